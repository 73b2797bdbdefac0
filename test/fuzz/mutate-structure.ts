import type { SeededRandom } from '../builders/seeded-random.ts';
import { MemberList, type ValueTree } from '../builders/value-tree.ts';

/** Replaces, moves, drops, repeats and renames some of the values of a tree, in place. */
export function mutateStructure(tree: ValueTree, random: SeededRandom): ValueTree {
  for (let rounds = 1 + random.below(6); rounds > 0; rounds--) {
    const places = placesIn(tree);
    if (places.length === 0) return strangeValue(random);
    if (places.length > maxPlaces) break;
    random.pick(mutations)(random.pick(places), random, random.pick(places));
  }
  return tree;
}

/** Copies of copies stop here. */
const maxPlaces = 3000;

/** Where a value stands: an item of a list or a member of an object. */
type Place = { list: ValueTree[]; index: number } | { members: MemberList['members']; index: number };

type Mutation = (place: Place, random: SeededRandom, other: Place) => void;

const mutations: readonly Mutation[] = [
  (place, random) => {
    setValue(place, strangeValue(random));
  },
  (place, random) => {
    setValue(place, strangeValue(random));
  },
  (place, _random, other) => {
    // Copies, as one of the two may be inside the other.
    const value = copyOf(valueAt(place));
    setValue(place, copyOf(valueAt(other)));
    setValue(other, value);
  },
  (place, _random, other) => {
    setValue(place, copyOf(valueAt(other)));
  },
  (place) => {
    setValue(place, [valueAt(place)]);
  },
  (place, random) => {
    setValue(place, new MemberList([[random.pick(names), valueAt(place)]]));
  },
  drop,
  repeat,
  rename,
  (place, random) => {
    setValue(place, nested(valueAt(place), random));
  },
];

const names = ['__proto__', 'constructor', 'toString', 'name', 'spec', 'a.b', 'x[0]', '', '<<', 'null', 'Name', 'kind'];

function strangeValue(random: SeededRandom): ValueTree {
  return random.pick<ValueTree>([
    null,
    true,
    0,
    -1,
    1.5,
    2 ** 53,
    1e300,
    '',
    'x',
    '0x10',
    '1e999',
    '-1Gi',
    'a\nb\u0000c',
    '\ud83d\ude80'.repeat(40),
    'x'.repeat(random.pick([64, 254, 5000])),
    [],
    [null, null],
    [[]],
    new MemberList([]),
    new MemberList([['__proto__', new MemberList([['polluted', true]])]]),
    new MemberList(names.map((name) => [name, 1])),
    random.times(1, 200, (index): ValueTree => (index % 3 === 0 ? null : index)),
  ]);
}

function drop(place: Place): void {
  if ('list' in place) place.list.splice(place.index, 1);
  else place.members.splice(place.index, 1);
}

/** The same item or the same member once more, sometimes very often. */
function repeat(place: Place, random: SeededRandom): void {
  const copies = random.chance(0.1) ? 300 : 1 + random.below(3);
  for (let copy = 0; copy < copies; copy++) {
    const value = copyOf(valueAt(place));
    if ('list' in place) place.list.push(value);
    else place.members.push([place.members[place.index]?.[0] ?? '', value]);
  }
}

function rename(place: Place, random: SeededRandom): void {
  if ('list' in place) return;
  const member = place.members[place.index];
  if (member) member[0] = random.chance(0.5) ? random.pick(names) : `${member[0]}s`;
}

function nested(value: ValueTree, random: SeededRandom): ValueTree {
  let inner = value;
  for (let depth = random.pick([2, 50, 600]); depth > 0; depth--) {
    inner = depth % 2 === 0 ? [inner] : new MemberList([['spec', inner]]);
  }
  return inner;
}

function placesIn(tree: ValueTree, places: Place[] = []): Place[] {
  if (Array.isArray(tree)) {
    for (const [index, item] of tree.entries()) {
      places.push({ list: tree, index });
      placesIn(item, places);
    }
  } else if (tree instanceof MemberList) {
    for (const [index, [, value]] of tree.members.entries()) {
      places.push({ members: tree.members, index });
      placesIn(value, places);
    }
  }
  return places;
}

function valueAt(place: Place): ValueTree {
  return ('list' in place ? place.list[place.index] : place.members[place.index]?.[1]) ?? null;
}

function setValue(place: Place, value: ValueTree): void {
  if ('list' in place) place.list[place.index] = value;
  else {
    const member = place.members[place.index];
    if (member) member[1] = value;
  }
}

function copyOf(tree: ValueTree): ValueTree {
  if (Array.isArray(tree)) return tree.map(copyOf);
  if (tree instanceof MemberList) return new MemberList(tree.members.map(([name, value]) => [name, copyOf(value)]));
  return tree;
}
