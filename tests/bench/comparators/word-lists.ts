/** Words that say the same, any of which a writer may take. */
export type Synonyms = readonly string[]

const groups = (lines: string): readonly Synonyms[] =>
  lines
    .trim()
    .split(/[\s]*[,\n][\s]*/)
    .filter((group) => group !== '')
    .map((group) => group.split('|'))

/** What questions are about: each with the things that belong to it. */
export const topics: Readonly<Record<string, readonly Synonyms[]>> = {
  harbour: groups(
    'crane|hoist, quay|wharf, tug|towboat, cargo|freight, pilot|steersman, mooring rope|hawser, warehouse|storehouse, container|box, tide gate|sluice, dredger, beacon|signal light, customs shed, fishing boat|trawler, ballast tank, gangway|boarding bridge, weighing bridge',
  ),
  bakery: groups(
    'oven|furnace, dough|paste, baker|oven keeper, flour sack|meal bag, proving basket, mixer|kneading machine, loaf|bread, starter|leaven, cooling rack|wire shelf, counter|shop table, steam valve, rye blend, delivery van|bread cart, crust, salt jar, bench scraper',
  ),
  railway: groups(
    'locomotive|engine, signal box|control cabin, track|line, switch|set of points, conductor|guard, carriage|coach, timetable|schedule, platform|boarding area, brake pipe, level crossing|road crossing, coupling|hook, depot|yard, tunnel|underpass, ticket office|booking desk, overhead wire, tamping machine',
  ),
  orchard: groups(
    'apple tree|fruit tree, grafting knife, pollinator|bee, irrigation line|water pipe, picker|harvest hand, crate|bin, frost alarm, pruning saw|cutter, hedge|windbreak, soil sample|earth probe, press|juicer, rootstock, blossom|flower, ladder|step, netting|bird cover, compost heap|mulch pile',
  ),
  observatory: groups(
    'telescope|main instrument, dome|rotating roof, mirror|reflector, astronomer|observer, camera|imager, mount|support, cooling loop, spectrograph, guide star, logbook|record, cable duct, filter wheel, weather station|sky monitor, encoder, night shift|late crew, backup disk|spare archive',
  ),
  reservoir: groups(
    'dam|barrier, spillway|overflow, pump|lift station, gauge|level meter, gatehouse, engineer|technician, intake tower, filter bed|sand basin, turbine, pipeline|water main, bank|shore, sediment|silt, inspection boat, alarm siren, treatment plant|purification works, seepage drain',
  ),
  'printing house': groups(
    'press|printing machine, plate|printing form, ink roller, typesetter|compositor, paper reel|paper roll, binder|stitching line, proof|trial sheet, cutter|guillotine, pigment|colour, foreman|shift leader, folder|folding unit, drying tunnel, order sheet|job card, warehouse pallet, glue pot, registration mark',
  ),
  clinic: groups(
    'nurse|carer, waiting room|reception area, thermometer|fever probe, record|patient file, doctor|physician, dose|amount of medicine, bandage|dressing, scanner|imaging unit, laboratory|test room, prescription|order, ambulance|rescue car, vaccine fridge|cold store, examination bed, syringe, duty list|roster, recovery ward',
  ),
  glassworks: groups(
    'kiln|melting oven, blower|glass maker, mould|form, sand mix|batch, annealing belt, colour rod, pipe|blowing tube, gas burner|flame nozzle, bottle|flask, crucible|melting pot, polishing wheel|grinder, inspector|quality checker, packing station, cullet bin|shard box, bubble|flaw, cooling fan',
  ),
  'mountain hut': groups(
    'warden|keeper, stove|heater, guest|hiker, water tank|cistern, solar panel|light collector, supply lift|goods cable, trail marker|path sign, bunk|bed, avalanche map, radio|transmitter, roof|cover, kitchen|cooking place, snow fence, drying room|boot room, first-aid box|rescue kit, stone wall',
  ),
  apiary: groups(
    'hive|colony box, queen|mother bee, beekeeper|hive owner, honey frame|comb frame, smoker|smoke can, swarm|cluster, entrance board, extractor|spinner, mite|parasite, brood nest, wax sheet|foundation, sugar feed|syrup, clover field|meadow, veil|face net, worker bee|forager, scale|balance',
  ),
  ferry: groups(
    'captain|skipper, car deck|vehicle deck, ramp|loading bridge, life raft|rescue float, rudder|steering blade, engine room|machine room, passenger|traveller, deckhand|sailor, radar|echo scanner, landing stage|jetty, fuel tank|diesel store, horn|whistle, propeller|screw, cabin|lounge, anchor|holding iron, bilge pump',
  ),
}

/** What may belong to anything. */
export const commonThings: readonly Synonyms[] = groups(
  `rope, bucket|pail, tool chest|kit box, lamp|lantern, wheel, spring|coil, lock|bolt, key ring, paint|coating, plank|board, nail, bracket|holder, hose|flexible pipe, battery|power cell, fuse|circuit breaker,
  thermostat|heat switch, sensor|probe, screen|display, keyboard, phone line|telephone wire, clock|timer, calendar|diary, contract|agreement, invoice|bill, budget|spending plan, insurance policy|cover note, manual|handbook, checklist|list of steps,
  training course|lesson, apprentice|trainee, manager on duty|person in charge, neighbour|next-door owner, supplier|vendor, customer|buyer, inspector general, union|staff council, school class|group of pupils, tourist|sightseer, journalist|reporter, dog,
  cat, gull, fox, mouse|rodent, moss, ivy, oak, gravel|small stones, sand|grit, clay, mud|sludge, ice|frost, fog|mist, rain gauge, wind|breeze, thunder, sunlight|daylight, shadow|shade, smell|odour, dust|fine dirt,
  smoke|fumes, ash|cinders, grease|lubricant, soap|cleaning agent, towel|cloth, glove|hand cover, boot|heavy shoe, helmet|hard hat, vest|jacket, ladder rack, fence|railing, staircase|flight of steps, elevator|lift cage, basement|cellar, attic|loft, window|pane,
  door frame, curtain|blind, carpet|rug, shelf|ledge, drawer, cabinet|cupboard, bench|seat, trolley|cart, bicycle|bike, lorry|truck, trailer, parking place|parking spot, bus stop, bridge|overpass, footpath|walkway, canal|channel, fountain, meadow|pasture,
  fire hose, alarm bell|warning bell, camera post, archive|collection of papers, museum room, souvenir|keepsake, map|chart, compass|direction finder, tent|canvas shelter, kettle|pot, spoon, plate rack, jar|glass pot, barrel|cask, basket|hamper, pallet|wooden tray, label printer, stamp|seal`,
)

/** What things do to other things: the form for one, and the bare form. */
export const actions: readonly Synonyms[] = groups(
  `carries/carry|moves/move|transports/transport, checks/check|inspects/inspect|examines/examine, protects/protect|shields/shield|guards/guard,
  supplies/supply|feeds/feed|provides for/provide for, replaces/replace|takes over from/take over from|stands in for/stand in for, holds/hold|keeps/keep|retains/retain,
  slows/slow|delays/delay|holds up/hold up, supports/support|helps/help|assists/assist, controls/control|steers/steer|regulates/regulate, reaches/reach|gets to/get to|arrives at/arrive at,
  warms/warm|heats/heat|heats up/heat up, cleans/clean|washes/wash|rinses/rinse, measures/measure|gauges/gauge|records/record, joins/join|connects to/connect to|links with/link with,
  damages/damage|harms/harm|wears out/wear out, opens/open|unlocks/unlock|releases/release, loads/load|fills/fill|stocks/stock, covers/cover|wraps/wrap|hides/hide,
  repairs/repair|mends/mend|fixes/fix, shakes/shake|jolts/jolt|rattles/rattle, dries/dry|airs/air, empties/empty|drains/drain, doubles/double|boosts/boost, bends/bend|curves/curve, lifts/lift|raises/raise|hoists/hoist, lowers/lower|drops/drop, hits/hit|strikes/strike, paints/paint|coats/coat, sorts/sort|arranges/arrange, wets/wet|soaks/soak, blocks/block|obstructs/obstruct, explains/explain|makes clear/make clear, sells/sell|trades/trade, borrows/borrow|rents/rent, counts/count|tallies/tally, shows/show|displays/display, stores/store|stows/stow, marks/mark|labels/label|tags/tag, follows/follow|comes after/come after|trails/trail, balances/balance|evens out/even out|offsets/offset`,
)

/** How things are. */
export const qualities: readonly Synonyms[] = groups(
  `reliable|dependable|trustworthy, heavy|weighty|massive, quick|fast|rapid, old|aged|elderly, fragile|delicate|breakable, costly|expensive|dear, simple|plain|uncomplicated, noisy|loud|clamorous,
  wet|damp|soaked, narrow|tight|slim, important|essential|vital, rare|uncommon|unusual, stable|steady|firm, dirty|soiled|grimy, dangerous|risky|hazardous, empty|vacant|unfilled, sharp|keen|pointed, cold|chilly|cool, useful|helpful|handy, bright|shiny|glossy, smooth|even, rough|uneven|coarse, famous|well known|renowned, quiet|silent|hushed, deep, short|brief, complete|entire|whole, loose|slack, sticky|gluey, crowded|packed|full, modern|new, curved|bent, hollow, legal|lawful, private|personal, seasonal, temporary|provisional|short-lived, visible|noticeable|plain to see`,
)

/** When things happen. */
export const times: readonly Synonyms[] = groups(
  `in the morning|early in the day|at dawn, after the storm|once the storm is over|when the storm has passed, during the summer|in the summer months|over the summer, at the end of each week|every weekend|when the week ends,
  before the season starts|ahead of the season|prior to the season, in a dry year|when little rain falls|during a drought, at night|after dark|in the night hours, from time to time|now and then|occasionally,
  on busy days|when there is much to do|at peak times, as soon as possible|without delay|right away, in the first stage|at the outset|to begin with, near the end|towards the close|at a late stage`,
)

/** Why things are done. */
export const purposes: readonly Synonyms[] = groups(
  `to save time|so that time is saved|in order to lose less time, to keep people safe|for the sake of safety|so that nobody gets hurt, to lower the cost|so that it costs less|to make it cheaper, to avoid waste|so that nothing is wasted|to throw away less,
  to meet the rules|so that the rules are kept|as the regulations demand, to please visitors|so that visitors are content|for the comfort of visitors, to prepare for winter|so that winter brings no surprise|with the winter in mind,
  to spread the load|so that the load is shared|for a more even load, to reduce the noise|so that it gets quieter|for less noise, to learn from mistakes|so that errors are not repeated|to do better the next time`,
)

/** What is counted or measured. */
export const units: readonly string[] =
  'kilograms,litres,hours,minutes,metres,visitors,boxes,degrees,days,workers,kilometres,tonnes,steps,coins'.split(
    ',',
  )

/** Words for joining sentences, which say nothing. */
export const openers: readonly string[] =
  'In addition,|Besides,|Moreover,|Usually,|In practice,|At the same time,|As a rule,|In many cases,|On the whole,|Of course,|By contrast,|In this case,'.split(
    '|',
  )

/** Pieces of invented names; no list of real people or places is behind them. */
export const syllables = {
  first:
    'Bal,Cor,Del,Fen,Gar,Hul,Jor,Kel,Lom,Mar,Nor,Ost,Pel,Quin,Ros,Sel,Tar,Ul,Ver,Wen,Yar,Zim'.split(
      ',',
    ),
  person:
    'ana,bert,dis,erik,fred,gund,helm,ian,ka,lena,mund,nata,ove,rika,sten,tild,vina,wyn'.split(','),
  place: 'bach,berg,bury,dale,feld,ford,gate,holm,horn,mere,moor,mouth,stead,thorpe,vik,wick'.split(
    ',',
  ),
} as const

/** Sentences that fit any question and answer none. */
export const filler: readonly string[] = [
  'This is a very interesting question that deserves a careful look from several sides.',
  'There are many factors to consider, and each of them plays a part in the whole picture.',
  'It depends on the circumstances, on what one wants, and on the means that one has.',
  'Different people will give different advice here, and all of them may be right in their own way.',
  'It is always a good idea to collect more information before one makes up one’s mind.',
  'In general, a balanced approach has proved itself in practice over a long time.',
  'One should keep the benefits in view without losing sight of the drawbacks.',
  'Every situation is unique, so no single recipe can work for everybody.',
  'Experts agree that planning, patience and good communication are the keys to success.',
  'What matters most is to stay flexible and to learn from experience step by step.',
  'Those who take the time to understand the basics will find the rest much easier.',
  'All in all, both sides have their merits, and the choice is a personal one.',
  'Please do not hesitate to ask further if any point should remain unclear.',
  'Small improvements add up, and steady progress beats a hasty change.',
  'The field is developing quickly, and new findings may change the view at any time.',
  'A short answer would not do justice to a matter of such breadth and depth.',
]

/** What a provider says when it declines. */
export const refusals: readonly string[] = [
  'I’m sorry, but I can’t help with that.',
  'I am unable to assist with this request. If you have another question, please let me know.',
  'Sorry, as a language model I cannot provide an answer to this question. Please consult a qualified professional instead.',
]
