"""English words that carry no topic and are therefore neither indexed nor asked for.

The list is closed and versioned with ``INDEX_FORMAT``: changing it changes every stored posting. It holds
function words only (articles, pronouns, prepositions, auxiliaries, question words, contractions whose
apostrophe was lost). Words with a topic in some domain stay out of it, however frequent: BM25 weighs
those down by itself. "May" stays out because it is a month, "won" because it is a result.
"""

from typing import Final

_LISTED: Final[str] = """
    a an the
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    this that these those who whom whose which what when where why how
    am is are was were be been being have has had having do does did doing done
    can could will would shall should might must ought
    and or but nor so yet if because as until while though although whether than then
    of at by for with about against between into through during before after above below to from
    up down in out on off over under again further once here there
    all any both each few more most other some such no not only own same too very just also
    dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wouldnt couldnt shouldnt im ive youre theyre
"""

STOP_WORDS: Final[frozenset[str]] = frozenset(_LISTED.split())
