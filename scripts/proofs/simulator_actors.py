"""Who edits the memory folder and the store, step by step: editors with their ways of saving, agents, tools, hands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from memstore.core.changes import Rename, Retire
from memstore.core.frontmatter import split
from memstore.core.model import INDEX_NAME, SHELF
from memstore.core.plan import Wanted
from memstore.errors import MemstoreError
from memstore.store import kept
from scripts.proofs.simulator_disk import Inode, Opening
from scripts.proofs.simulator_ledger import marks_in, marks_of, of_topic
from scripts.proofs.simulator_texts import changed, line, topic
from scripts.proofs.simulator_world import Actor, Simulation

EDITOR, CLIENT = "editor", "client"
Way = Callable[[Simulation, str, Random], Actor]


def cast(sim: Simulation, ways: Mapping[Way, int]) -> None:
    """Chooses who takes part. `ways`: what there is to be, and how likely."""
    drawn = [way for way, weight in ways.items() for _ in range(weight)]
    for number in range(sim.random.choice((1, 2, 2, 3, 3, 4, 5, 6))):
        way = sim.random.choice(drawn)
        name = f"{way.__name__.replace('_', '-')}-{number}"
        sim.actors.append((name, way(sim, name, Random(sim.random.random()))))


def some_file(sim: Simulation, random: Random) -> str | None:
    """A file that is there now; every third time the index."""
    folder = sim.folder()
    if folder is None:
        return None
    names = sorted(name for name in folder.entries if name.endswith(".md") and name[0] != ".")
    if INDEX_NAME in names and random.random() < 0.3:
        return INDEX_NAME
    return random.choice(names) if names else None


def replace_file(sim: Simulation, name: str, content: bytes) -> bytes | None:
    """A save by rename: what lay there is gone, unless somebody has it open. None: there is no folder."""
    folder = sim.folder()
    if folder is None:
        return None
    there = folder.entries.get(name)
    over = b"" if there is None else there.data
    made = sim.disk.make_file(folder, f"{name}.tmp.1")
    made.data = content
    sim.disk.rename(folder, f"{name}.tmp.1", folder, name)
    sim.names.add(name)
    return over


# Editors


def renamer(sim: Simulation, who: str, random: Random) -> Actor:
    """Opens a file, and saves it by rename, once or twice."""
    yield from _by_rename(sim, who, random, EDITOR, random.choice((1, 1, 2)))


def writer(sim: Simulation, who: str, random: Random) -> Actor:
    """An agent that writes the whole file from what it had loaded."""
    yield from _by_rename(sim, who, random, EDITOR, 1)


def editing(sim: Simulation, who: str, random: Random) -> Actor:
    """An agent that edits: it looks, and renames right after."""
    yield from _by_rename(sim, who, random, CLIENT, 1)


def _by_rename(sim: Simulation, who: str, random: Random, window: str, times: int) -> Actor:
    name = some_file(sim, random)
    had = None if name is None else sim.read(name)
    if name is None or had is None:
        return
    yield f"opens {name}"
    for _ in range(times):
        content = changed(random, name, had, sim.ledger.new)
        over = replace_file(sim, name, content)
        if over is None:
            return
        sim.ledger.saved(who, name, had, content, over, window)
        yield f"saves {name}"
        had = content


def backer(sim: Simulation, who: str, random: Random) -> Actor:
    """Renames the old file to a backup, then writes a new one."""
    name = some_file(sim, random)
    had = None if name is None else sim.read(name)
    if name is None or had is None:
        return
    yield f"opens {name}"
    folder = sim.folder()
    if folder is None:
        return
    over = b""
    if name in folder.entries:
        over = folder.entries[name].data
        sim.disk.rename(folder, name, folder, f"{name}~")
        yield f"backs up {name}"
    memory = sim.tool.store.at(SHELF, name)
    if memory is not None and not memory.state.live:  # it took so long that this was a deletion
        sim.ledger.took_away(name, over)
    content = changed(random, name, had, sim.ledger.new)
    more = replace_file(sim, name, content)
    if more is None:
        sim.ledger.took_away(name, over)
    else:
        sim.ledger.saved(who, name, had, content, over + b"\n" + more, EDITOR)
        yield f"saves {name}"


def in_place(sim: Simulation, who: str, random: Random) -> Actor:
    """Saves into the file itself: cuts it to nothing, writes it in pieces. Sometimes it has had it open all along."""
    name = some_file(sim, random)
    opening: Opening | None = None
    inode = None if name is None else sim.file(name)
    if inode is not None and random.random() < 0.5:
        opening = _opened(sim, inode)
    if name is None or inode is None or inode in sim.torn:
        return
    had = inode.data
    if opening is not None:
        yield f"holds {name} open"
    else:
        yield f"opens {name}"
    content = changed(random, name, had, sim.ledger.new)
    while opening is None:
        folder = sim.folder()
        if folder is None:
            return
        opening = _opened(sim, folder.entries.get(name) or sim.disk.make_file(folder, name))
        if opening is None:
            yield f"waits for {name}"
    sim.names.add(name)
    inode, over = opening.inode, opening.inode.data
    sim.disk.truncate(inode)
    sim.torn.add(inode)
    sim.ledger.overwrites(name, had, over, EDITOR)
    if random.random() < 0.7:
        yield f"empties {name}"
    half = len(content) // 2 if random.random() < 0.5 else 0
    if half:
        sim.disk.write(opening, content[:half])
        yield f"writes half of {name}"
    sim.disk.write(opening, content[half:])
    sim.torn.discard(inode)
    sim.ledger.saved(who, name, had, content, over, EDITOR)
    window = _saved_into_nothing(sim, inode)
    if window:
        sim.ledger.vanished(marks_in(content), window)
    if random.random() < 0.5:
        yield f"has written {name}"
    sim.disk.close(opening)
    yield f"closes {name}"


def _opened(sim: Simulation, inode: Inode) -> Opening | None:
    if inode.writers:
        return None
    try:
        return sim.disk.open(inode, writes=True)
    except BlockingIOError:
        return None


def _saved_into_nothing(sim: Simulation, inode: Inode) -> str:
    """In whose window a save into a file got that has left the folder; nothing where it is still there, or should be:
    where the program took its last name, though it could know that somebody had it open."""
    if not inode.links:
        return EDITOR if inode not in sim.removed else "" if sim.leases else "unseen"
    folder = sim.folder()
    names = [name for name, there in ([] if folder is None else sim.disk.files(folder)) if there is inode]
    if not names:
        return "swept"
    return EDITOR if names[0].endswith("~") else ""


# Hands


def deleter(sim: Simulation, who: str, random: Random) -> Actor:
    """Deletes a file."""
    name, folder = some_file(sim, random), sim.folder()
    if name is not None and folder is not None and folder.entries[name] not in sim.torn:
        _take_away(sim, folder, name)
        yield f"deletes {name}"


def _take_away(sim: Simulation, folder: Inode, name: str) -> None:
    sim.ledger.took_away(name, folder.entries[name].data)
    if name != INDEX_NAME:
        _unlist(sim, name)
    sim.disk.unlink(folder, name)


def _unlist(sim: Simulation, name: str) -> None:
    """What the index says of a topic goes with it."""
    sim.ledger.unlisted(of_topic(sim.read(INDEX_NAME) or b"", name))
    rows = "\n".join(row.text for row in sim.tool.store.index())
    sim.ledger.unlisted(of_topic(rows.encode(), name))


def mover(sim: Simulation, who: str, random: Random) -> Actor:
    """Gives a file another name by hand."""
    name, folder = some_file(sim, random), sim.folder()
    if name is None or folder is None or name == INDEX_NAME:
        return
    new = f"moved-{name}"
    if new not in folder.entries:
        sim.disk.rename(folder, name, folder, new)
        sim.ledger.renamed_by_hand(name, new)
        sim.names.add(new)
        yield f"renames {name} to {new}"


def maker(sim: Simulation, who: str, random: Random) -> Actor:
    """Makes a new topic, then perhaps a line for it in the index."""
    name = f"{who}.md"
    content = changed(random, name, topic(name, line(random, sim.ledger.new("f"))), sim.ledger.new, gentle=True)
    over = replace_file(sim, name, content)
    if over is not None:
        sim.ledger.saved(who, name, b"", content, over, EDITOR)
        yield f"makes {name}"
    had = sim.read(INDEX_NAME)
    if had is not None and random.random() < 0.5:
        listed = had.rstrip(b"\n") + f"\n- [New]({name}) — {sim.ledger.new('t')}\n".encode()
        over = replace_file(sim, INDEX_NAME, listed)
        if over is not None:
            sim.ledger.saved(who, INDEX_NAME, had, listed, over, EDITOR)
            yield f"lists {name}"


def sweeper(sim: Simulation, who: str, random: Random) -> Actor:
    """Removes the whole folder, or moves it away and perhaps back."""
    folder = sim.folder()
    if folder is None:
        return
    with sim.tool.store.view() as connection:
        waiting = kept.waiting(connection, 1)  # these are known, but nobody has taken them in yet
    living = sim.living()
    for name, inode in sim.disk.files(folder):
        if name in waiting or not sim.tool.store.knows(inode.data):
            sim.ledger.vanished(marks_of(name, inode.data) - living, "swept")
    home = sim.disk.at("/home")
    if random.random() < 0.5 or "away" in home.entries:
        sim.disk.remove_tree(home, "memory")
        yield "removes the folder"
        return
    sim.disk.rename(home, "memory", home, "away")
    yield "moves the folder away"
    if "memory" not in home.entries and random.random() < 0.7:
        sim.disk.rename(home, "away", home, "memory")
        yield "moves the folder back"


def cleaner(sim: Simulation, who: str, random: Random) -> Actor:
    """Deletes several files, but not the hidden ones."""
    folder = sim.folder()
    if folder is None:
        return
    names = [name for name, inode in sim.disk.files(folder)
             if name.endswith(".md") and name[0] != "." and inode not in sim.torn]  # fmt: skip
    for name in random.sample(names, random.randint(len(names) // 2, len(names))):
        _take_away(sim, folder, name)
    yield "deletes many files"


# Tools, which write into the store and leave the files to others


def appender(sim: Simulation, who: str, random: Random) -> Actor:
    """Appends to a memory, or makes one."""
    for _ in range(random.choice((1, 1, 2))):
        yield f"appends to {sim.append(sim.tool, who)}"


def reviser(sim: Simulation, who: str, random: Random) -> Actor:
    """Reads a memory, and later replaces what it read."""
    memories = sim.tool.store.memories(SHELF)
    if not memories:
        return
    head = random.choice(memories)
    yield f"reads {head.path}"
    had = head.state.content
    content = changed(random, head.path, had, sim.ledger.new)
    body = split(content)[1].decode()
    wanted = Wanted(body=body) if split(content)[0] == split(had)[0] else Wanted(body=content.decode())
    try:
        sim.tool.write(head.path, wanted, expect=head.token, on_conflict="merge")
    except MemstoreError:
        yield f"may not replace {head.path}"
        return
    sim.ledger.wrote(who, head.path, had, content)
    yield f"replaces {head.path}"


def retirer(sim: Simulation, who: str, random: Random) -> Actor:
    """Deletes a memory."""
    memories = sim.tool.store.memories(SHELF)
    if memories:
        head = random.choice(memories)
        _unlist(sim, head.path)
        sim.ledger.took_away(head.path, head.state.content)
        sim.tool.change(head.path, lambda found: Retire(found.id, found.token), "delete")
        yield f"retires {head.path}"


def namer(sim: Simulation, who: str, random: Random) -> Actor:
    """Gives a memory another name."""
    memories = sim.tool.store.memories(SHELF)
    if memories:
        head = random.choice(memories)
        new = f"named-{head.path}"
        if sim.tool.store.at(SHELF, new) is None:
            sim.tool.change(head.path, lambda found: Rename(found.id, found.token, new), "rename")
            sim.ledger.moved(head.path, new)
            yield f"calls {head.path} {new}"


WAYS: dict[Way, int] = {
    renamer: 4, in_place: 5, backer: 2, writer: 3, editing: 4, maker: 2, deleter: 2, mover: 1, sweeper: 1, cleaner: 1,
    appender: 6, reviser: 4, retirer: 1, namer: 1,
}  # fmt: skip
