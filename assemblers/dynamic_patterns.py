"""What looks as if it changed from call to call: dates, times, UUIDs, e-mail addresses, template holes.

Every pattern is bounded in length and can begin only where a run of its characters begins, so that a long hostile
text takes linear time.
"""

import re

_MONTHS = (
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec "
    "januar februar märz mai juni juli oktober dezember "
    "janvier février mars avril juin juillet août septembre octobre novembre décembre "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "
    "janeiro fevereiro março maio junho julho setembro outubro novembro dezembro "
    "januari februari maart mei augustus"
)
_MONTH = rf"(?:{'|'.join(sorted(_MONTHS.split(), key=len, reverse=True))})\b\.?"
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?"
_YEAR = r"(?:19|20)\d\d(?!\d)"
_MONTH_NUMBER = r"(?:0?[1-9]|1[0-2])"
_DAY_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])"
_DAY = rf"{_DAY_NUMBER}(?:st|nd|rd|th|\.|º)?"

DATE = (
    # A hyphen before it belongs to a name that has a date in it, such as that of a model.
    rf"(?<![\w.-])(?:19|20)\d\d(?P<by>[-/]){_MONTH_NUMBER}(?P=by){_DAY_NUMBER}(?!\d)"
    rf"|(?<![\w./-]){_DAY_NUMBER}(?P<by2>[./-]){_DAY_NUMBER}(?P=by2){_YEAR}"
    r"|(?<!\w)(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])T\d{4,6}"
    rf"|(?<!\d){_YEAR}\s?年\s?{_MONTH_NUMBER}\s?月\s?{_DAY_NUMBER}\s?日"
    rf"|(?<!\w){_DAY}\s(?:of\s|de\s)?{_MONTH},?\s(?:de\s)?{_YEAR}"
    rf"|(?<!\w){_MONTH}\s{_DAY},?\s{_YEAR}"
    rf"|(?<!\w){_WEEKDAY},?\s(?:{_MONTH}\s{_DAY}|{_DAY}\s{_MONTH})(?!\w)"
)

TIME = (
    r"(?<![\w:.])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?![:\w])"
    r"|(?<![\w:.])(?:1[0-2]|0?[1-9])(?::[0-5]\d)?\s?[ap](?:m|\.m\.)(?!\w)"
    r"|(?<!\w)(?:[01]?\d|2[0-3])(?::[0-5]\d)?\s?(?:o'clock|Uhr)(?!\w)"
    # Seconds or milliseconds since 1970, from 2001 to 2033.
    r"|(?<![\w.+-])1\d{9}(?:\d{3})?(?![\w.-]\d|\w)"
)

UUID = r"(?<![\w-])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![\w-])"

EMAIL = r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[a-z]{2,24}(?![\w-])"

_NAME = r"[a-z_][\w.]{0,80}"
TEMPLATE = (
    rf"\{{\{{[#/^>!&~-]?\s{{0,8}}\$?{_NAME}[^{{}}:;\n]{{0,100}}\}}\}}"  # {{ name | filter }}
    r"|\{%[^{}\n]{1,200}%\}"  # {% if %}
    rf"|\$\{{{_NAME}[^{{}}\n\"]{{0,80}}\}}"  # ${name}
    r"|<%[=-]?[^<>%\n]{1,200}%>"  # <%= name %>
    r"|%\([a-z_]\w{0,80}\)[sdifr]"  # %(name)s
    r"|(?<![\w%/:.-])%[sd](?![\w%/:-])"  # %s, but not %Y-%m-%d
    # {name}, but not the braces of code: those of an import, of TeX, of an object with a colon in it.
    r"|(?<!import )(?<!export )(?<!const )(?<!let )(?<![\w$\\{}^])"
    rf"\{{{_NAME}(?:\[\w{{1,40}}\])?(?:![rsa])?(?::(?:[^{{}}\s\"':]{{0,6}}[<>^,.][^{{}}\s\"':]{{0,6}}|0?\d{{0,3}}[dfx]))?\}}(?!\}})"
    r"|(?<![\w$\\{}\])+*.?^|-])\{\d\}(?![\}\w])"  # {0}, but not a quantifier
)

PATTERNS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in (
        ("date", DATE),
        ("time", TIME),
        ("uuid", UUID),
        ("email", EMAIL),
        ("template", TEMPLATE),
    )
}
"""By the name that allows it."""
