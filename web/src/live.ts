/** Talking to the server of the live explorer. Its cookie goes along; nothing goes anywhere else. */

import { readColumn, unpack } from "./decode";
import type { ArrayRef, Column, ColumnHeader } from "./types";

/** How well columns keep the neighbourhoods of some rows, and what changes the target around them and everywhere. */
export interface LocalRelevance {
  names: string[];
  values: number[];
  target?: { names: string[]; values: number[]; overall: number[] } | null;
}

export interface JobState {
  id: string;
  state: "waiting" | "running" | "done" | "failed" | "stopped";
  share: number;
  step: number;
  message: string;
  result?: LocalRelevance;
}

/** What became of rows that were placed: they are rows of the page from now on. */
export interface PlacedRows {
  rows: number;
  far: number;
  notes: string[];
}

/** Something went wrong, in words for the user. */
export class LiveError extends Error {}

export class LiveClient {
  /** The map's bytes, or how far its making is. */
  async page(): Promise<ArrayBuffer | JobState> {
    const answer = await this.send("GET", "page");
    return answer.status === 202 ? ((await answer.json()) as JobState) : await answer.arrayBuffer();
  }

  /** Some columns, one after another; at most 64. */
  async columns(first: number, count: number): Promise<Column[]> {
    const answer = await this.send("GET", `columns/${first}/${count}`);
    const { header, array } = unpack<{ columns: ColumnHeader[] }>(await answer.arrayBuffer());
    return header.columns.map((column) => readColumn(column, array));
  }

  async rememberView(view: string): Promise<void> {
    await this.send("PUT", "view", JSON.stringify({ view }));
  }

  async exportRows(rows: readonly number[] | "all", layer: string): Promise<Blob> {
    return await (await this.send("POST", "export", JSON.stringify({ rows, layer }))).blob();
  }

  /** The name of the file says how it is read. */
  async place(file: File): Promise<PlacedRows> {
    return (await (await this.send("POST", `place?name=${encodeURIComponent(file.name)}`, file)).json()) as PlacedRows;
  }

  async removePlaced(): Promise<void> {
    await this.send("DELETE", "place");
  }

  async startJob(question: Record<string, unknown>): Promise<JobState> {
    return (await (await this.send("POST", "jobs", JSON.stringify(question))).json()) as JobState;
  }

  async job(id: string): Promise<JobState> {
    return (await (await this.send("GET", `jobs/${encodeURIComponent(id)}`)).json()) as JobState;
  }

  async positions(id: string): Promise<Float32Array> {
    const answer = await this.send("GET", `jobs/${encodeURIComponent(id)}/positions`);
    const { header, array } = unpack<{ positions: ArrayRef }>(await answer.arrayBuffer());
    return array(header.positions) as Float32Array;
  }

  async stopJob(id: string): Promise<void> {
    await this.send("DELETE", `jobs/${encodeURIComponent(id)}`);
  }

  /** Follow a job to its end; `seen` is told of every look. */
  async follow(job: JobState, seen: (job: JobState) => Promise<void> | void): Promise<JobState> {
    let now = job;
    do {
      await new Promise((resolve) => setTimeout(resolve, 200));
      now = await this.job(job.id);
      await seen(now);
    } while (now.state === "waiting" || now.state === "running");
    if (now.state === "failed") throw new LiveError(now.message);
    return now;
  }

  private async send(method: string, path: string, body?: BodyInit): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(`api/${path}`, { method, body, credentials: "same-origin" });
    } catch {
      throw new LiveError("The explorer does not answer. Is prismap still running?");
    }
    if (answer.ok) return answer;
    const words = await answer.json().then(
      (found: unknown) => (found as { error?: string }).error,
      () => undefined,
    );
    throw new LiveError(words ?? `The explorer answered with status ${answer.status}.`);
  }
}
