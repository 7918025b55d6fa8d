"""How Rust writes names, and which ones stubs keep for themselves."""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.definitions.stubs.identifiers import Style, identifiers, pascal, snake

KEYWORDS = frozenset(
    """
    abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl
    in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type typeof
    union unsafe unsized use virtual where while yield
    """.split()  # noqa: SIM905
)
RESERVED_TYPES = frozenset(
    """
    Self Option Some None Result Ok Err String Vec Box Copy Send Sized Sync Unpin Drop Fn FnMut FnOnce ToOwned Clone
    PartialEq PartialOrd Eq Ord AsRef AsMut Into From Default Iterator Extend IntoIterator DoubleEndedIterator
    ExactSizeIterator ToString TryFrom TryInto FromIterator Debug Hash BTreeMap Value Number Map Serialize Deserialize
    Serializer Deserializer Document Mismatch Descriptor Context Logger Tool ToolError Config Arc Client CallOptions
    CallError Input Output
    """.split()  # noqa: SIM905
)
DEVICES = frozenset(
    ["aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))]
)
"""What no file can be called on Windows."""
RESERVED_STEMS = (KEYWORDS | DEVICES) | frozenset(
    """
    all alloc ask call_tool cancel client clone config core events follow from_env generated give_up lib main mod new
    request resume serde serde_json services std support tools with_transport
    """.split()  # noqa: SIM905
)
_MEMBERS = Style(snake, KEYWORDS | {"self", "Self"}, longest=50)
_VARIANTS = Style(pascal, frozenset({"Self"}), longest=50)
_REST = ("extra", "other_members", "further_members", "members_without_name")


def member_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Identifiers of fields and parameters."""
    return identifiers(names, _MEMBERS, taken)


def variant_names(words: Iterable[str]) -> dict[str, str]:
    """Identifiers of variants."""
    return identifiers(words, _VARIANTS)


def rest_name(names: Iterable[str]) -> str:
    """What the field is called that holds the members without a field."""
    wanted = {_MEMBERS.made(name) for name in names}
    return next((each for each in _REST if each not in wanted), _REST[0])


def type_names(names: Iterable[str], acronyms: frozenset[str]) -> dict[str, str]:
    """Identifiers of types that are no tree's."""
    return identifiers(names, Style(pascal, acronyms=acronyms, longest=50))
