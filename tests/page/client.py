"""Requests to an application without a network: what a browser would send, and what it must not."""

import asyncio
import threading

import httpx

BASE = "http://127.0.0.1:8123"


class Client:
    """A browser that knows the token and comes from the server's own page, unless its headers are changed."""

    def __init__(self, app):
        self.app = app
        self.headers = {"X-Prismap-Token": app.state.token, "Origin": BASE}
        self.loop = asyncio.new_event_loop()
        # In a thread of its own: browser tests on the same worker keep a loop in the main one.
        self.thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.app.state.explorer.jobs.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def request(self, method, path, *, headers=None, **options):
        async def send():
            # An application must answer trouble itself: what it raises on top is for the server's log.
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
                return await client.request(method, path, headers={**self.headers, **(headers or {})}, **options)

        return asyncio.run_coroutine_threadsafe(send(), self.loop).result(timeout=60)

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)

    def put(self, path, **options):
        return self.request("PUT", path, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)
