"""Words that stand for one another: the irregular forms of a word, and words of nearly its meaning.

A stemmer joins `deploys` and `deployed`; it cannot know that `went` is `go`, nor that who asks for the `db` may have
written `postgres`. The tables hold what is true of everyday and of developers' English anywhere, and nothing that
belongs to one project. A form counts nearly as the word itself, a kindred word for much less.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

_FORMS = """
    arise arose arisen; awake awoke awoken; bear bore borne born; beat beaten; become became; begin began begun;
    bend bent; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring
    brought; build built; burn burnt; buy bought; catch caught; choose chose chosen choice; come came; creep crept;
    deal dealt; dig dug; do did done; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven driver;
    eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; flee fled; fly flew flown
    flight; forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get
    got gotten; give gave given gift; go went gone; grind ground; grow grew grown growth; hang hung; have had; hear
    heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known knowledge; lay laid; lead led; lean
    leant; learn learnt; leave left; lend lent loan; lie lay lain; light lit; lose lost loss; make made; mean meant;
    meet met; mistake mistook mistaken; overcome overcame; pay paid payment; prove proven proof; ride rode ridden;
    ring rang rung; rise rose risen; run ran; say said; see saw seen sight; seek sought; sell sold sale; send sent;
    sew sewn; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung song;
    sink sank sunk; sit sat; sleep slept asleep; slide slid; speak spoke spoken speech; spend spent; spin spun;
    spring sprang sprung; stand stood; steal stole stolen theft; stick stuck; strike struck; swear swore sworn;
    sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told; think
    thought; throw threw thrown; understand understood; undergo underwent; undertake undertook; undo undid undone;
    wake woke woken; wear wore worn; weave wove woven; weep wept; win won winner; wind wound; withdraw withdrew
    withdrawn; write wrote written; rewrite rewrote rewritten; rebuild rebuilt; redo redid redone; child children;
    man men; woman women; person people; foot feet; tooth teeth; mouse mice; goose geese; life lives live alive;
    wife wives; knife knives; leaf leaves; half halves; shelf shelves; wolf wolves; thief thieves; loaf loaves;
    index indices; matrix matrices; vertex vertices; analysis analyses analyze; crisis crises; criterion criteria;
    datum data; medium media; hypothesis hypotheses; basis bases; schema schemata; appendix appendices; good better
    best; bad worse worst; far farther further; old elder; die died death dead; decide decision; deep depth; long
    length; wide width; high height; strong strength; warm warmth; true truth; young youth; choose choice; believe
    belief; advise advice; live life; succeed success successful; marry married marriage; describe description;
    explain explanation; destroy destruction; receive receipt reception; conclude conclusion; permit permission;
    admit admission; extend extension; expand expansion; compress compression; convert conversion; divide division;
    collide collision; respond response; solve solution resolve resolution; repeat repetition; retain retention;
    assume assumption; consume consumption consumer; produce production product; reduce reduction; introduce
    introduction; apply application applicant; simple simplify simplicity; clear clarify clarity; identify identity
    identification; verify verification; notify notification; specify specification spec; modify modification;
    classify classification; qualify qualification; vary variation variable variant; deny denial; try trial; arrive
    arrival; approve approval; refuse refusal; remove removal; renew renewal; propose proposal; survive survival;
    rely reliable reliance; perform performance; maintain maintenance; exist existence; depend dependency dependent;
    differ difference different; prefer preference; refer reference; occur occurrence; compete competition
    competitor competitive; define definition; compose composition composer; oppose opposite opposition; expose
    exposure; fail failure; press pressure; mix mixture; sign signature; proceed process procedure; speak speaker;
    sing singer; paint painter; write writer; teach teacher; photo photograph photographer photography; music
    musical musician; art artist artistic; science scientist scientific; economy economic; politics political
    politician; history historic historical historian; volunteer voluntary; graduate graduation; celebrate
    celebration; donate donation donor; invite invitation; educate education educational; communicate communication;
    recommend recommendation; travel traveler traveller; swim swimmer; dance dancer; run runner; hike hiker; garden
    gardener; bake baker bakery; engineer engineering; psychology psychologist; therapy therapist; nurse nursing;
    novel novelist; guitar guitarist; piano pianist; violin violinist; cycle cyclist cycling; own owner; win winner;
    value valuable; health healthy; fun funny; day daily; week weekly; month monthly; year yearly annual annually;
    night nightly; two twice second double; one once first single; three third triple; four fourth; five fifth; 1
    one; 2 two; 3 three; 4 four; 5 five; 6 six; 7 seven; 8 eight; 9 nine; 10 ten; 11 eleven; 12 twelve
"""

_KIN = """
    child kid son daughter toddler baby; mother mom mum mama parent; father dad papa parent; parent mom dad;
    grandmother grandma granny nana; grandfather grandpa granddad; sibling brother sister; spouse husband wife
    partner; boyfriend girlfriend partner; family relative kin; friend buddy pal mate; people folks; person someone
    guy; colleague coworker teammate; boss manager supervisor lead; neighbor neighbour; doctor physician; teacher
    instructor professor tutor; student pupil; lawyer attorney; pet dog cat puppy kitten; dog puppy pup; cat kitten
    kitty; job work occupation profession career employment role position; salary pay wage income; company employer
    firm business startup; business company shop store startup; employee staff worker; hire recruit; quit resign
    leave; office workplace; meeting call appointment; promotion promote raise; money cash fund; cost price fee
    charge expense; buy purchase acquire order get; sell sale; store shop market supermarket; cheap affordable
    inexpensive; expensive pricey costly; discount deal coupon sale; pay spend cost; save saving; budget spending;
    gift present; donate donation charity give; house home apartment flat place; apartment flat condo; room bedroom;
    sofa couch; fridge refrigerator; tv television; phone smartphone cellphone mobile; laptop computer notebook;
    computer pc laptop desktop; car vehicle auto automobile truck suv; bike bicycle cycle cycling; motorcycle
    motorbike; plane flight airplane airline fly; train rail railway; boat ship sail; drive ride; trip travel
    journey vacation holiday tour visit; vacation holiday getaway; hotel motel hostel accommodation; visit trip tour
    go; road street highway; city town; country nation; abroad overseas; beach sea ocean coast; mountain hill peak;
    lake river; forest wood woods; camp camping tent; hike hiking trail trek walk; walk stroll; run jog jogging
    running marathon; food meal dish cuisine; meal breakfast lunch dinner brunch; dinner supper meal; recipe cook
    dish; cook bake cooking; cake pastry dessert; dessert sweet cake pie cookie; drink beverage; coffee espresso
    latte cafe; restaurant cafe diner eatery; vegetable veggie; diet nutrition eat; appliance oven blender fryer
    microwave toaster mixer; furniture table chair sofa couch desk bookshelf bed dresser; clothes clothing outfit
    apparel garment dress shirt jacket; shoe sneaker boot footwear; jewelry necklace ring bracelet earring pendant;
    bag backpack suitcase luggage; instrument guitar piano violin drum flute ukulele; toy game; movie film cinema;
    show series episode; book novel read; author writer; song music track; music song album band playlist; band
    group; concert gig festival; art painting drawing; paint painting artwork; picture photo photograph image pic
    snapshot; photo picture photograph image pic; video clip footage; game play; sport soccer football basketball
    tennis baseball hockey golf; soccer football; gym workout fitness exercise; exercise workout fitness training;
    yoga meditation; hobby pastime interest; race marathon triathlon; competition contest tournament; award prize
    medal trophy; win victory; class course lesson workshop; workshop class seminar course; school college
    university; college university school; degree bachelor master diploma phd; study learn; exam test quiz; grade
    score; language speak; party celebration celebrate; wedding marriage marry bride; engaged engagement fiance;
    birthday anniversary; event festival ceremony conference; church temple mosque; club group community; ill sick
    illness disease; sick ill; pain hurt ache injury; injury injured hurt; hospital clinic; medicine medication drug
    pill; surgery operation; therapy counseling therapist counselor; stress stressed anxiety anxious; relax unwind
    destress rest chill; happy glad joy pleased; sad unhappy upset down; angry mad upset; scared afraid fear
    frightened; excited thrilled; tired exhausted; nervous anxious worried; proud pride; love like enjoy adore; like
    enjoy love favorite; favorite favourite best prefer preferred; hate dislike; enjoy love like fun; want wish;
    hope wish; need require; goal aim target objective; plan intend planning; dream wish; problem issue trouble
    difficulty challenge; challenge obstacle difficulty hurdle; help assist support aid; support help; encourage
    motivate inspire; inspire inspiration motivate; advice tip suggestion recommendation; suggest recommend advise;
    idea suggestion thought; opinion view think; reason cause why; result outcome; change switch; improve better
    enhance improvement; increase raise grow; decrease reduce lower; start begin launch; finish complete end done;
    stop quit end; continue keep; try attempt; happen occur; attend join participate go; participate join attend;
    join enroll register; meet encounter; talk chat speak discuss conversation; discuss talk chat; tell say mention;
    ask question; answer reply response; explain describe; remember recall; find discover; search look find; choose
    pick select; select choose pick; give provide offer; get receive obtain; receive got; send mail ship; show
    display; see watch view; watch see view; look see; hear listen; build make create construct; make create build
    craft; create make build; fix repair mend; repair fix; break damage broken; damage break broken harm; replace
    swap switch; move relocate moved; relocate move; live reside stay; stay remain; return back; arrive reach came;
    carry bring; collect collection gather; collection collect; grow plant garden; garden gardening plant; plant
    flower garden; big large huge; small little tiny; quick fast rapid; fast quick speed; beautiful pretty lovely
    gorgeous; nice pleasant; difficult hard tough; hard difficult tough; easy simple; important significant key; new
    recent; old ancient aged; whole entire; near close nearby; often frequently; frequently often; recently lately;
    lately recently; currently now; previous former earlier; former previous; earlier before previously; amount
    number quantity; total sum overall; kind type sort; type kind sort; child childhood kid; age old; color colour;
    weather rain snow temperature; rain storm; accident crash; dead die pass; adopt adoption; pregnant baby; divorce
    breakup separated; date dating; error failure fault exception crash; bug defect fault issue; failure fail error
    crash; crash panic abort; fix patch repair; delete remove erase drop; remove delete drop; add insert append;
    config configuration settings setting; settings config configuration preferences; configure set setup; install
    setup installation; setup install set; deploy deployment release ship rollout; release version ship publish
    deploy; rollback revert undo; revert undo rollback; upgrade update bump; update upgrade refresh; database db
    postgres mysql sqlite; db database; repository repo; repo repository; directory folder dir; folder directory
    dir; file document; docs documentation document; authentication auth login; auth authentication authorization
    login; login signin logon auth; password credential secret passphrase; token key secret credential; permission
    access rights privilege; environment env; env environment; variable var; parameter argument param arg; argument
    parameter flag option; option flag setting; function method; library package dependency; package library module
    dependency; dependency package library; test tests spec; mock stub fake; linter lint ruff eslint; format
    formatter formatting; build compile; compile build; ci pipeline workflow; pipeline ci workflow; server host
    backend; host server machine; client frontend; frontend ui; backend server; endpoint route url api; url link
    address; request call; timeout deadline; slow latency performance; performance speed latency; cache cached;
    migration migrate schema; backup snapshot copy; log logs logging; container docker; kubernetes k8s cluster;
    staging preprod; production prod live; prod production; admin administrator; user customer; customer client
    user; ticket issue task; task job todo; deadline due date; review pr pull; commit change; convention rule style
    standard; rule convention policy guideline; avoid never; prefer favor
"""


def forms(word: str) -> tuple[str, ...]:
    """Other forms of a lowercase word that no stemmer finds."""
    return _found(_table(_FORMS), word)


def kindred(word: str) -> tuple[str, ...]:
    """Words of nearly the same meaning."""
    return _found(_table(_KIN), word)


@cache
def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Each word with all that stand in a group with it."""
    groups: dict[str, dict[str, None]] = {}
    for group in map(str.split, text.split(";")):
        for word in group:
            groups.setdefault(word, {}).update(dict.fromkeys(group))
    return {word: tuple(other for other in others if other != word) for word, others in groups.items()}


def _found(table: dict[str, tuple[str, ...]], word: str) -> tuple[str, ...]:
    return next((table[base] for base in _bases(word) if base in table), ())


def _bases(word: str) -> Iterator[str]:
    """The word, then what it may be a regular form of."""
    yield word
    if len(word) < 4 or not word.isascii():
        return
    if word.endswith("s"):
        yield word[:-1]
        if word.endswith("ies"):
            yield word[:-3] + "y"
        elif word.endswith("es"):
            yield word[:-2]
    for ending in ("ing", "ed", "er", "ly"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word[: -len(ending)]
            yield stem
            yield stem + "e"
            if stem[-1] == stem[-2]:
                yield stem[:-1]
            if stem.endswith("i"):
                yield stem[:-1] + "y"
