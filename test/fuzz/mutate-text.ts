import type { SeededRandom } from '../builders/seeded-random.ts';

/** The bytes of a manifest with something broken in them; `other` is a manifest to take pieces from. */
export function mutateText(text: string, other: string, random: SeededRandom): Uint8Array {
  let bytes: Uint8Array = Buffer.from(text);
  const rounds = 1 + random.below(4);
  for (let round = 0; round < rounds; round++) {
    const mutate = random.pick(mutations);
    bytes = mutate(bytes, random, Buffer.from(other)).subarray(0, maxBytes);
  }
  return bytes;
}

/** Mutations that multiply a text stop here. */
const maxBytes = 64 * 1024;

type Mutation = (bytes: Uint8Array, random: SeededRandom, other: Uint8Array) => Uint8Array;

const mutations: readonly Mutation[] = [
  flipBits,
  (bytes, random) => replace(bytes, range(bytes, random), new Uint8Array()),
  duplicate,
  (bytes, random, other) => replace(bytes, range(bytes, random), slice(other, range(other, random))),
  (bytes, random, other) =>
    concat(bytes.subarray(0, random.below(bytes.length + 1)), other.subarray(random.below(other.length + 1))),
  insertPiece,
  insertPiece,
  repeatPiece,
  changeIndentation,
  moveLine,
  (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1)),
  (bytes, random) => replaceText(bytes, random, /-?[0-9]+/g, hugeNumbers),
  (bytes, random) =>
    replaceText(bytes, random, /\n/g, ['\r\n', '\r', '\n\n', '\u0085', '\u2028', '\n\t', '\n---\n', '\n...\n']),
  (bytes, random) => replaceText(bytes, random, / /g, ['\t', '\u00a0', '  ', '']),
  (bytes, random) => replaceText(bytes, random, /[a-zA-Z]+(?=:)/g, strangeKeys),
  anchorEverything,
  (bytes) => Buffer.concat([Buffer.from('\uFEFF'), bytes]),
  (bytes) => Buffer.from(Buffer.from(bytes).toString('utf8'), 'utf16le'),
];

/** Words and marks that mean something in YAML, in JSON or to us. */
const pieces: readonly string[] = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ': ',
    ':',
    ', ',
    '- ',
    '? ',
    '"',
    "'",
    '\n',
    '\n\n',
    '  ',
    '\t',
    '#',
    ' # c\n',
    '|\n',
    '>-\n',
    '|9+\n',
  ],
  ...[
    '&a ',
    '*a ',
    '<<: ',
    '<<: *a\n',
    '!!int ',
    '!!binary ',
    '!!str ',
    '!<x> ',
    '! ',
    '%YAML 1.1\n---\n',
    '%TAG ! x\n---\n',
  ],
  ...['---\n', '...\n', '\\', '\\u', '\\x41', '\u0000', '\u0007', '\u0085', '\uFEFF', '\u{1F680}', 'é', '`', '@', '%'],
  ...[
    'null',
    '~',
    'true',
    'no',
    '.inf',
    '.nan',
    '0x',
    '0o7',
    '1_000',
    '1e999',
    '-0',
    '""',
    "''",
    '{}',
    '[]',
    '{{ .Values }}',
  ],
  ...['apiVersion: v1\n', 'kind: Pod\n', 'metadata:\n', 'spec:\n', '  containers:\n', '__proto__: ', 'constructor: '],
];

const hugeNumbers = [
  '9'.repeat(400),
  '-9223372036854775809',
  '18446744073709551616',
  '1e400',
  '0.' + '0'.repeat(300) + '1',
  '1Ei',
  '0x' + 'f'.repeat(90),
];
const strangeKeys = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'null',
  '1',
  '""',
  '? ',
  '[a]',
  '<<',
  'k'.repeat(5000),
];

function flipBits(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const flipped = Uint8Array.from(bytes);
  for (let count = random.below(8); count >= 0; count--) {
    const at = random.below(flipped.length);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8));
  }
  return flipped;
}

function duplicate(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const [start, end] = range(bytes, random);
  const copies = random.chance(0.1) ? 200 : 1 + random.below(4);
  return replace(bytes, [end, end], repeated(bytes.subarray(start, end), copies));
}

function insertPiece(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const at = random.below(bytes.length + 1);
  return replace(bytes, [at, at], Buffer.from(random.pick(pieces)));
}

/** Depth, width, length: the same few marks again and again. */
function repeatPiece(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const at = random.below(bytes.length + 1);
  const piece = random.times(1, 3, () => random.pick(pieces)).join('');
  return replace(bytes, [at, at], repeated(Buffer.from(piece), random.pick([10, 100, 600, 20_000])));
}

function changeIndentation(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const lines = toText(bytes).split('\n');
  const from = random.below(lines.length);
  const to = from + random.below(lines.length - from) + 1;
  const spaces = random.below(4);
  const moves = random.chance(0.5)
    ? (line: string) => ' '.repeat(spaces) + line
    : (line: string) => line.replace(new RegExp(`^ {0,${spaces}}`), '');
  return Buffer.from(lines.map((line, index) => (index >= from && index < to ? moves(line) : line)).join('\n'));
}

function moveLine(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const lines = toText(bytes).split('\n');
  const moved = lines.splice(random.below(lines.length), 1);
  lines.splice(random.below(lines.length + 1), 0, ...moved);
  return Buffer.from(lines.join('\n'));
}

/** Gives values anchors, and makes others aliases of those. */
function anchorEverything(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const text = toText(bytes).replaceAll(/: (?=\S)|:(?=\n)/g, (colon) => {
    const name = random.pick(['a', 'b', 'c', 'd']);
    if (random.chance(0.7)) return colon;
    return random.chance(0.6) ? `: &${name}${colon === ':' ? '' : ' '}` : `: *${name} #`;
  });
  return Buffer.from(text);
}

function replaceText(
  bytes: Uint8Array,
  random: SeededRandom,
  pattern: RegExp,
  replacements: readonly string[],
): Uint8Array {
  const share = random.pick([0.02, 0.1, 1]);
  const replacement = random.pick(replacements);
  return Buffer.from(toText(bytes).replaceAll(pattern, (found) => (random.chance(share) ? replacement : found)));
}

function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

/** Mostly short, now and then as long as it gets. */
function range(bytes: Uint8Array, random: SeededRandom): [start: number, end: number] {
  const start = random.below(bytes.length + 1);
  const longest = random.chance(0.7) ? 20 : bytes.length;
  return [start, Math.min(bytes.length, start + random.below(longest + 1))];
}

function slice(bytes: Uint8Array, [start, end]: [number, number]): Uint8Array {
  return bytes.subarray(start, end);
}

function replace(bytes: Uint8Array, [start, end]: [number, number], inserted: Uint8Array): Uint8Array {
  return concat(bytes.subarray(0, start), inserted, bytes.subarray(end));
}

function repeated(bytes: Uint8Array, count: number): Uint8Array {
  const copies = Math.min(count, Math.ceil(maxBytes / Math.max(1, bytes.length)));
  return concat(...Array.from({ length: copies }, () => bytes));
}

function concat(...parts: Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
