"""Rules a page must keep for people who use a keyboard, a screen reader or weak eyes; each breach is named.

Names for everything that can be used, labels for fields, references that exist, unique ids, sane roles, one main region
and one first heading, a language, and text contrast of at least 4.5 (3 for large text), as WCAG 2.2 AA asks.
"""

from pathlib import Path

CHECK = Path(__file__).with_name("accessibility.js").read_text()
#: A colour that is still on its way to another has a contrast that nobody reads.
AT_REST = "() => !document.getAnimations().some((one) => one instanceof CSSTransition)"


def breaches(page):
    """What the page does wrong, in words; empty if nothing was found."""
    page.wait_for_function(AT_REST)
    return page.evaluate(CHECK)
