"""How values that others wrote are shown: as data, bounded, with everything invisible made visible.

``segments`` splits text, ``secrets`` masks, ``arguments`` makes rows of a tool call's arguments, ``sentence``
fills the sentence people read first, ``durations`` words times. Pages, mails and exports all use these.
"""
