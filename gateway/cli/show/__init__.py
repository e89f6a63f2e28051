"""How answers look on a terminal. Nothing here calls anything; no content is ever read as markup."""
