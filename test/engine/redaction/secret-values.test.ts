import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { formsOf } from '../../../src/engine/redaction/secret-forms.ts';
import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';
import { propertyRuns, propertyTimeoutMs } from '../../support/property-runs.ts';

let secrets: SecretValues;
beforeEach(() => {
  secrets = new SecretValues();
});

/** Of one text of 128 KiB. A search for one value after the other takes up to 100 times as long. */
const maxHideMs = 1000;
const value = 'pA55"w\\ö rd/+x';

test.each<[string, string]>([
  ['itself', value],
  ['quoted', JSON.stringify(value).slice(1, -1)],
  ['quoted in JSON', JSON.stringify(JSON.stringify(value)).slice(3, -3)],
  ['in a URL', encodeURIComponent(value)],
])('redacts a value that is written %s', (_title, told) => {
  secrets.set('s', [`${value}\n`]);
  expect(secrets.hide(`exec: "${told}": not found`)).toBe('exec: "<hidden>": not found');
});

test.each([0, 1, 2, 3])('a value is hidden in base64 that begins %d bytes before it', (offset) => {
  secrets.set('s', ['correct horse battery']);
  const told = Buffer.from(`${'u'.repeat(offset)}correct horse battery:more`).toString('base64');
  const hidden = secrets.hide(`Authorization: Basic ${told}`);
  expect(hidden).toContain('<hidden>');
  const left = hidden.replace('Authorization: Basic ', '').replace('<hidden>', '');
  expect(left.length).toBeLessThan(16);
});

test('the longest value that is there is hidden, and each of several', () => {
  secrets.set('a', ['long-value', 'long-value-and-more']);
  secrets.set('b', [Buffer.from('another one')]);
  expect(secrets.hide('long-value-and-more, long-value, another one')).toBe('<hidden>, <hidden>, <hidden>');
});

test('a value may be of any characters, short ones among them', () => {
  const ascii = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).filter((c) => c !== ' ');
  const values = ascii.map((character) => `a${character}b${character}c`);
  secrets.set('s', values);
  expect(values.map((text) => secrets.hide(`told (${text}).`))).toEqual(values.map(() => 'told (<hidden>).'));
});

test('lines of a value are hidden one by one, but for short ones', () => {
  secrets.set('s', ['-----BEGIN KEY-----\nabcdefghijkl\n}\n-----END KEY-----\n']);
  expect(secrets.hide('found abcdefghijkl } in it')).toBe('found <hidden> } in it');
});

test('passwords within a list of registries are hidden', () => {
  const auth = Buffer.from('ada:registry-password').toString('base64');
  secrets.set('s', [JSON.stringify({ auths: { 'r.example': { auth, identitytoken: 'token-of-ada' } } })]);
  expect(secrets.hide(`registry-password ${auth} token-of-ada r.example`)).toBe('<hidden> <hidden> <hidden> r.example');
});

test('a password with half a character harms nothing, and is hidden as any output shows it', () => {
  secrets.set('s', [String.raw`{"auths":{"r":{"password":"abcd\ud800"}}}`]);
  expect(secrets.hide('told abcd\ufffd and more')).toBe('told <hidden> and more');
});

describe('what would take the sense from messages', () => {
  test('is not hidden when it is shorter than four characters, or a plain word', () => {
    const text = 'abc on 80 is true, false, null, None';
    secrets.set('s', ['abc', '80', '', 'true', 'false', 'null', 'None']);
    expect(secrets.hide(text)).toBe(text);
  });

  test('is redacted within a word from eight characters on, and as a line of a value from eight on', () => {
    secrets.set('s', ['seventy', 'eighteen', 'a first line\nasevenl\nof-eight']);
    expect(secrets.hide('xseventy xeighteen, asevenl and of-eight')).toBe('xseventy x<hidden>, asevenl and <hidden>');
  });

  test('is hidden only where it stands alone when it is shorter than eight', () => {
    secrets.set('s', ['root', 'a.*b']);
    expect(secrets.hide('chroot as root, user=root: a.*b axxb')).toBe(
      'chroot as <hidden>, user=<hidden>: <hidden> axxb',
    );
  });

  test('is not hidden when it is the name of something', () => {
    secrets.set('s', ['postgres-main', 'other-value']);
    secrets.setPublicNames('s', ['postgres-main']);
    expect(secrets.hide('Started container postgres-main with other-value')).toBe(
      'Started container postgres-main with <hidden>',
    );
  });
});

test('a former value stays redacted', () => {
  secrets.set('s', ['first-value']);
  secrets.set('s', ['second-value']);
  secrets.set('s', []);
  expect(secrets.hide('first-value second-value')).toBe('<hidden> <hidden>');
});

test('the newest 1,000 removed values stay hidden', () => {
  const values = Array.from({ length: 1001 }, (_, index) => `value-${String(index).padStart(4, '0')}`);
  secrets.set('s', values);
  expect(secrets.hide('value-0000 value-0001 value-1000')).toBe('<hidden> <hidden> <hidden>');
  secrets.set('s', []);
  expect(secrets.hide('value-0000 value-0999 value-1000')).toBe('<hidden> <hidden> value-1000');
  secrets.set('t', ['one-more']);
  secrets.set('t', []);
  expect(secrets.hide('value-0000 value-0999 one-more')).toBe('<hidden> value-0999 <hidden>');
});

test('redacts the last former one of short-lived values, which displace no others', () => {
  secrets.set('s', ['rotated-value']);
  secrets.set('s', []);
  for (let number = 1000; number <= 2001; number++) secrets.setShortLived('t', [`token-${number}`]);
  expect(secrets.hide('rotated-value token-1999 token-2000 token-2001')).toBe('<hidden> token-1999 <hidden> <hidden>');
  secrets.setShortLived('t', ['token-2001']);
  secrets.setShortLived('u', ['token-u']);
  expect(secrets.hide('token-2000 token-2001 token-u')).toBe('<hidden> <hidden> <hidden>');
});

test('a long text that begins or ends in the middle of a value does not tell that part', () => {
  secrets.set('s', ['the-quick-brown-fox']);
  const middle = ' x'.repeat(600);
  expect(secrets.hide(`brown-fox${middle}`)).toBe(`<hidden>${middle}`);
  expect(secrets.hide(`${middle}the-quick-b`)).toBe(`${middle}<hidden>`);
  expect(secrets.hide(`${middle}the-quiet`)).toBe(`${middle}the-quiet`);
  expect(secrets.hide(`fox${middle}the`)).toBe(`fox${middle}the`);
});

test('redacts the longest part of values in which a text was cut', () => {
  secrets.set('s', ['brown-fox jumps', 'the-quick-brown-fox jumps', 'x-abcdabcd', 'y-abcdabcdabcd']);
  const middle = ' x'.repeat(600);
  expect(secrets.hide(`abcdabcdabcd${middle} the-quick-brown-fox`)).toBe(`<hidden>${middle} <hidden>`);
});

test('a part of a value is hidden at the end also where a shorter value is within it', () => {
  secrets.set('s', ['the-quick-brown-fox', 'quick-br']);
  const middle = ' x'.repeat(600);
  expect(secrets.hide(`he-quick-brown-fox${middle} the-quick-brown`)).toBe(`<hidden>${middle} <hidden>`);
});

test('a text that is long only before its values are hidden may have been cut too', () => {
  secrets.set('s', ['the-quick-brown-fox']);
  expect(secrets.hide(`${'the-quick-brown-fox '.repeat(60)}the-quick-b`)).toBe(`${'<hidden> '.repeat(60)}<hidden>`);
});

describe('the bound on values and lines', () => {
  const numbered = (count: number, name: string): string[] =>
    Array.from({ length: count }, (_, index) => `${name}-${String(index).padStart(5, '0')}`);

  test('is 1,000 lines of a value', () => {
    secrets.set('s', [numbered(1001, 'line').join('\n')]);
    expect(secrets.hide('line-00999 line-01000')).toBe('<hidden> line-01000');
  });

  test('is 10,000 of all sources, values before lines and shorter values first', () => {
    secrets.set('lines', [numbered(1000, 'line').join('\n')]);
    secrets.set('values', [...numbered(9990, 'value'), 'a-longer-value', 'the-longest-value-of-all']);
    expect(secrets.hide('value-00000 a-longer-value the-longest-value-of-all line-00006 line-00007')).toBe(
      '<hidden> <hidden> <hidden> <hidden> line-00007',
    );
  });

  /** A text that does not repeat itself. */
  const textOf = (length: number, seed: number): string =>
    Array.from({ length: length / 4 }, (_, index) => (((index + 1) * seed) >>> 0).toString(36).padStart(8, '-'))
      .join('')
      .slice(0, length);

  test('is 2 MiB of all sources', () => {
    const [first, second] = [textOf(1024 * 1024, 7919), textOf(1024 * 1024, 7907)];
    secrets.set('s', ['password', `${second}\nline-of-it`, first]);
    expect(secrets.hide(`password ${first} line-of-it`)).toBe('<hidden> <hidden> <hidden>');
    expect(secrets.hide(`${second} too much`)).toBe(`${second} too much`);
  });

  test('is 64 KiB of a value, by which all of it is found, and it has no other form', () => {
    const value = `a"${textOf(70 * 1024, 7919)}`;
    secrets.set('s', [value]);
    expect(secrets.hide(`before ${value} after`)).toBe('before <hidden> after');
    const quoted = JSON.stringify(value);
    expect(secrets.hide(quoted.slice(0, 60_000))).toBe(quoted.slice(0, 60_000));
  });
});

describe('a Secret and a text that repeat themselves take bounded work', () => {
  const runs = (from: number, count: number): string[] =>
    Array.from({ length: count }, (_, index) => 'a'.repeat(from + index));
  const length = 128 * 1024;
  const all = 'a'.repeat(length);
  const steps = Array.from({ length: 700 }, (_, index) => `${'a'.repeat(index)}b`).join('');

  test.each<[string, string[], string[]]>([
    ['1,000 lines of one letter', [runs(8, 1000).join('\n')], [`${all}b`, `b${all}`, steps]],
    ['1 MiB of a, aa, aaa …', [runs(1, 1440).join('\n')], [`${all}b`, `b${all}`, steps]],
    ['1 MiB of long lines', [runs(600, 900).join('b\n')], [`${all}b`, `b${all}`, steps]],
    ['lines with another letter within', [runs(8, 1000).join('b\n')], [`${all}b`, `b${all}`, steps]],
    ['lines that end alike', [runs(8, 1000).join('\nb')], [`${all}b`, `b${all}`, steps]],
    ['the beginning of each long value', runs(65_000, 16).map((run) => `${run}b`), [`${all}c`, steps]],
    ['the end of each long value', runs(65_000, 16).map((run) => `b${run}`), [`c${all}`, steps]],
    ['a value without end', [`${'a'.repeat(2 * length)}b`], [`${all}c`, `c${all}`, steps]],
    [
      '100 Secrets',
      runs(8, 100).map((run, index) => runs(8, 100).join(`${String(index)}${run}\n`)),
      [`${all}b`, `b${all}`, steps],
    ],
  ])('%s', (_what, values, told) => {
    secrets.set('s', values);
    secrets.hide('');
    for (const text of told) {
      const since = process.cpuUsage();
      secrets.hide(text);
      const { user, system } = process.cpuUsage(since);
      expect((user + system) / 1000).toBeLessThan(maxHideMs);
    }
  });

  test('beyond the limit of that work, the rest of a text counts as a value', () => {
    secrets.set('s', [`${'a'.repeat(60_000)}b`]);
    const middle = ' x'.repeat(600);
    const shown = secrets.hide(`${middle} ${'a'.repeat(50_000)}c`);
    // The comparisons at 80 offsets, each with all of the rest, reach the limit.
    expect(shown).toBe(`${middle} ${'a'.repeat(80)}<hidden>`);
  });
});

/** Few characters, so that values are parts of one another and of the text. */
const letters = fc.constantFrom('a', 'b', '-', '\n', '"', 'ö', '𝒜', '/');
const texts = (maxLength: number): fc.Arbitrary<string> => fc.string({ unit: letters, minLength: 1, maxLength });
/** A letter again and again, in values and in texts. */
const runs = fc.tuple(fc.nat(40), fc.constantFrom('', 'b', '-'), fc.nat(20)).map(([first, between, last]) => {
  return `aa${'a'.repeat(first)}${between}${'a'.repeat(last)}`;
});
/** A text of values, their forms and other characters. */
const pieces = fc.array(fc.oneof(texts(6), runs, fc.nat()), { maxLength: 12 });
const told = ['', 'json', 'url', 'base64', 'base64url'] as const;

function tell(value: string, as: (typeof told)[number]): string {
  if (as === 'json') return JSON.stringify(value).slice(1, -1);
  if (as === 'url') return encodeURIComponent(value);
  return as === '' ? value : Buffer.from(value).toString(as);
}

test(
  'no value of eight characters is left in a text, in any form, and what is left was in the text',
  () => {
    const input = fc.record({ values: fc.array(fc.oneof(texts(14), runs), { minLength: 1, maxLength: 8 }), pieces });
    const check = fc.property(input, ({ values, pieces: parts }) => {
      const own = new SecretValues();
      own.set('s', values);
      const text = parts.map((part) => toldPiece(part, values)).join('');
      const shown = own.hide(text).split('<hidden>');
      const hiddenValues = values.map((value) => value.trim()).filter((value) => value.length >= 4);
      const forms = hiddenValues.flatMap((value) => [...formsOf(value)]).filter((form) => form.length >= 8);
      expect(forms.filter((form) => shown.some((part) => part.includes(form)))).toEqual([]);
      expect(shown.filter((part) => !text.includes(part))).toEqual([]);
    });
    fc.assert(check, propertyRuns(2000));
  },
  propertyTimeoutMs,
);

test('a text without a value is shown as it is', () => {
  const check = fc.property(
    fc.array(texts(14)),
    fc.string({ unit: fc.constantFrom('x', 'y', ' ', '.') }),
    (values, text) => {
      const own = new SecretValues();
      own.set('s', values);
      expect(own.hide(text)).toBe(text);
    },
  );
  fc.assert(check, propertyRuns(500));
});

function toldPiece(piece: string | number, values: readonly string[]): string {
  if (typeof piece === 'string') return piece;
  return tell(values[piece % values.length] ?? '', told[piece % told.length] ?? '');
}
