import type { SeededRandom } from './seeded-random.ts';

/**
 * A YAML text in one of the many shapes that the language allows: comments in odd places, compact lists, brackets over
 * several lines, scalars of every style, uneven indentation, empty values. About half of them are no YAML at all.
 */
export function yamlText(random: SeededRandom): string {
  const writer = new YamlWriter(random);
  const text = writer.pick(beginnings) + writer.mapping(random.chance(0.95) ? 0 : 2, 4) + writer.pick(endings);
  return random.chance(0.2) ? withSlip(text, random) : text;
}

/** What is usual, and now and then what is not. */
interface Choice {
  usual: readonly string[];
  odd: readonly string[];
}

const beginnings: Choice = {
  usual: ['', '', '', '---\n', '# first\n', '\n', '--- # first\n', '\n---\n', ' \n'],
  odd: ['  # first\n', '--- ', '  ---\n', '...\n', '%YAML 1.1\n---\n'],
};
const endings: Choice = {
  usual: ['', '', '', '\n', '# last', '  # last\n', '   ', '\n\n'],
  odd: ['...\n', '---\n', '--- # next\n'],
};
const lineEnds: Choice = {
  usual: ['\n', '\n', '\n', '\n', ' # so\n', '  \n', '\n\n', '\n# so\n', '\n      # so\n', ' #\n', '\n  \n'],
  odd: ['', '\r\n', '\t\n', '\u0085', '#\n'],
};
const keys: Choice = {
  usual: [
    ...['a', 'name', 'app.kubernetes.io/name', 'b c', 'x-y_z', 'http://x', 'a#b', 'é', '🚀', '-a', '?a', ':a', 'a]'],
    ...['"q"', "'s'", '"a: b"', "'it''s'", '"\\n"', '"a # b"', '"<<"', '"1"'],
  ],
  odd: ['1', '0x10', '1.50', 'true', '~', '<<', '', '[a]', '{a: b}', '? a', '&x a', '!x a', '*x', '"a\n b"', '- a'],
};
const colons: Choice = { usual: [': ', ': ', ': ', ': ', ' : ', ':   '], odd: [':', ': # so\n      ', ':\n', ':\t'] };
const words: Choice = {
  usual: [
    ...['a', 'a b', 'registry.example.com/app:1.0', 'http://x:80/p?q=1#f', 'a#b', 'a:b', '-a', '--x=y', '?a', ':a'],
    ...['1', '1.50', '0x1F', '010', '1_000', '1e3', '-0', '.5', 'yes', 'True', '~', 'null', '2024-01-01', '100m'],
    ...['é', '🚀 up', '\u2028', '<<', '=', 'a\\', "it's", 'a "b"', 'a && b', 'a -b', 'a  b', 'a - b', 'a ? b', 'a : b'],
  ],
  odd: [
    ...['a, b', 'a]', 'a {b}', '*.x', '@x', '`x', '%x', '!x', '&x', '*x', '!!str 1', '.inf', '\u00a0', 'a: b', 'a #b'],
    ...['|', '>', '- a', '? a', ',', 'key:', '"', "'", '[ ! -f x ]', '---', '...', '{{ .x }}', '', '[a', 'a\tb'],
  ],
};
const quoted: Choice = {
  usual: [
    ...['""', "''", '"a b"', "'a b'", '"a: b # c"', "'it''s'", '"1"', "'true'", '"é🚀"', '"a \\"b\\" \\\\"', "' '"],
    ...['"\\/\\n\\t\\0\\e\\_\\N\\L\\P\\a\\b\\v\\f\\r"', '"\\x41\\u00e9"', '"\\ud83d\\ude80"', '"\\ud800"'],
  ],
  odd: ['"\\q"', '"\\U0001F680"', '"\\U00110000"', '"\\xg0"', '"\\u12"', '"a" b', '"a"b', "'a'b", '"a', "'a"],
};
const emptyCollections: Choice = { usual: ['[]', '{}', '[ ]', '{ }'], odd: ['[\n]', '{\n    # so\n  }', '[,]', '{,}'] };

/** Writes blocks whose first line is not indented yet. */
class YamlWriter {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  pick({ usual, odd }: Choice): string {
    return this.#random.pick(this.#random.chance(0.02) ? odd : usual);
  }

  /** A block mapping at a column, from the start of a line. */
  mapping(column: number, depth: number): string {
    const indent = ' '.repeat(column);
    return this.#random.times(1, 4, () => indent + this.#pair(column, depth)).join('');
  }

  #sequence(column: number, depth: number): string {
    const indent = ' '.repeat(column);
    return this.#random.times(1, 3, () => `${indent}-${this.#item(column, depth)}`).join('');
  }

  #pair(column: number, depth: number): string {
    return this.pick(keys) + this.pick(colons) + this.#value(column, depth);
  }

  /** What stands behind a `-`: a value, or a collection that begins on the line. */
  #item(column: number, depth: number): string {
    const spaces = this.#random.pick([1, 1, 1, 3]);
    const inner = column + 1 + spaces;
    if (depth === 0 || this.#random.chance(0.4)) return ' '.repeat(spaces) + this.#value(column, depth);
    const block = this.#random.chance(0.7) ? this.mapping(inner, depth - 1) : this.#sequence(inner, depth - 1);
    return ' '.repeat(spaces) + block.slice(inner);
  }

  /** What stands behind an indicator, up to the end of its last line. */
  #value(column: number, depth: number): string {
    const random = this.#random;
    const lineEnd = this.pick(lineEnds);
    switch (random.below(depth === 0 ? 12 : 18)) {
      case 0:
        return this.pick(emptyCollections) + lineEnd;
      case 1:
        return this.#lines(column) + lineEnd;
      case 2:
        return this.#quotedLines(column) + lineEnd;
      case 3:
      case 4:
        return this.#blockScalar(column);
      case 5:
      case 6:
        return this.#flow(column, 2) + lineEnd;
      case 7:
        return random.chance(0.1) ? lineEnd : this.pick(quoted) + lineEnd;
      case 8:
        return this.pick(quoted) + lineEnd;
      case 12:
      case 13:
      case 14:
        return `\n${this.#sequence(column + random.pick([0, 0, 2, 3]), depth - 1)}`;
      case 15:
      case 16:
      case 17:
        return `${random.pick(['\n', '\n', ' # so\n'])}${this.mapping(column + random.pick([2, 2, 1, 4]), depth - 1)}`;
      default:
        return this.pick(words) + lineEnd;
    }
  }

  /** Words over several lines, which mean one line. */
  #lines(column: number): string {
    const random = this.#random;
    const indent = ' '.repeat(column + random.pick([2, 2, 5, random.below(column + 3)]));
    return random.times(2, 4, () => this.pick(words)).join(random.pick(['\n', '\n\n', ' \n', '\n \n\n']) + indent);
  }

  #quotedLines(column: number): string {
    const random = this.#random;
    const quote = random.pick(['"', "'"]);
    const breaks = ['\n', '\n\n', '  \n', '\n  \n', ...(random.chance(0.1) ? ['\\\n', '\\\n\n'] : [])];
    const lines = random.times(1, 4, () =>
      random.pick(['a', 'a b ', ' a', '# a', 'a: b', '- a', '[', quote === '"' ? '\\"' : "''", '']),
    );
    return quote + lines.join(random.pick(breaks) + ' '.repeat(column + random.pick([1, 2, 2, 5]))) + quote;
  }

  #blockScalar(column: number): string {
    const random = this.#random;
    const header =
      random.pick(['|', '|', '>']) +
      random.pick(['', '', '-', '+', '2', '1-', '+2', random.chance(0.1) ? '9' : '']) +
      random.pick(['', '', ' ', random.chance(0.2) ? ' # |' : '']);
    const indent = ' '.repeat(column + random.pick([2, 2, 2, 2, 4, random.below(4)]));
    const lines = random.times(0, 5, () =>
      random.chance(0.2)
        ? ' '.repeat(random.chance(0.8) ? 0 : random.below(column + 6))
        : indent +
          random.pick(['', '', '', '  ', ' ']) +
          random.pick(['a', 'a: b', '- a', '# so', '"', 'a  ', '[ -f x ]']),
    );
    return `${[header, ...lines].join('\n')}${random.pick(['\n', '\n', '\n\n', '\n\n\n', `\n${indent} \n`, '\n# so\n'])}`;
  }

  #flow(column: number, depth: number): string {
    const random = this.#random;
    const space = (): string =>
      random.pick(['', '', ' ', ' ', ' ', `\n${' '.repeat(column + 2)}`, ` # so\n${' '.repeat(column + 3)}`]);
    const value = (): string => {
      if (depth > 0 && random.chance(0.3)) return this.#flow(column, depth - 1);
      return this.pick(random.chance(0.7) ? words : quoted);
    };
    const pair = (): string => `${this.pick(keys)}${random.chance(0.03) ? random.pick([':', '']) : ': '}${value()}`;
    const isMapping = random.chance(0.5);
    const items = random.times(0, 3, () => (isMapping || random.chance(0.1) ? pair() : value()) + space());
    const inside = items.join(`,${space()}`) + (items.length > 0 && random.chance(0.1) ? ',' : '');
    return isMapping ? `{${space()}${inside}}` : `[${space()}${inside}]`;
  }
}

/** The text with one character more, less or doubled, or a line moved by a column. */
function withSlip(text: string, random: SeededRandom): string {
  const at = random.below(text.length + 1);
  const before = text.slice(0, at);
  const after = text.slice(at);
  const lineStart = before.lastIndexOf('\n') + 1;
  switch (random.below(4)) {
    case 0:
      return before + after.slice(1);
    case 1:
      return (
        before + random.pick([' ', '\n', '"', "'", ':', '- ', '#', ',', '[', '}', '\t', '\r\n', '\uFEFF', '?']) + after
      );
    case 2:
      return `${text.slice(0, lineStart)} ${text.slice(lineStart)}`;
    default:
      return text.slice(0, lineStart) + text.slice(lineStart + 1);
  }
}
