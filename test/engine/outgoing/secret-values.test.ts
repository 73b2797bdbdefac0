import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { SecretValues } from '../../../src/engine/outgoing/secret-values.ts';
import { propertyRuns, propertyTimeoutMs } from '../../property-runs.ts';
import { usedHeapBytes } from '../../used-heap-bytes.ts';
import { PlainSecretValues } from './plain-secret-values.ts';

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
])('a value is hidden when it is told %s', (_title, told) => {
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

  test('is hidden beside letters from eight characters on, and as a line of a value from eight on', () => {
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

test('what was a value is hidden further on', () => {
  secrets.set('s', ['first-value']);
  secrets.set('s', ['second-value']);
  secrets.set('s', []);
  expect(secrets.hide('first-value second-value')).toBe('<hidden> <hidden>');
});

test('of the values that were removed, the newest 1,000 are hidden', () => {
  const values = Array.from({ length: 1001 }, (_, index) => `value-${String(index).padStart(4, '0')}`);
  secrets.set('s', values);
  expect(secrets.hide('value-0000 value-0001 value-1000')).toBe('<hidden> <hidden> <hidden>');
  secrets.set('s', []);
  expect(secrets.hide('value-0000 value-0001 value-1000')).toBe('value-0000 <hidden> <hidden>');
});

test('of short-lived values the last former one is hidden, and they displace no others', () => {
  secrets.set('s', ['rotated-value']);
  secrets.set('s', []);
  for (let number = 1000; number <= 2001; number++) secrets.setShortLived('t', [`token-${number}`]);
  expect(secrets.hide('rotated-value token-1999 token-2000 token-2001')).toBe('<hidden> token-1999 <hidden> <hidden>');
  secrets.setShortLived('t', ['token-2001']);
  secrets.setShortLived('u', ['token-u']);
  expect(secrets.hide('token-2000 token-2001 token-u')).toBe('<hidden> <hidden> <hidden>');
});

test('further lines of a short-lived value are hidden as long as it is', () => {
  const lines = (name: string): string =>
    Array.from({ length: 6000 }, (_, index) => `${name}-line-${String(index).padStart(4, '0')}`).join('\n');
  for (const name of ['one', 'two', 'three']) secrets.setShortLived('t', [lines(name)]);
  expect(secrets.hide('told: three-line-5999')).toBe('told: <hidden>');
  expect(secrets.hide('told: two-line-5999')).toBe('told: <hidden>');
  expect(secrets.hide('told: one-line-5999')).toBe('told: one-line-5999');
});

test('a long text that begins or ends in the middle of a value does not tell that part', () => {
  secrets.set('s', ['the-quick-brown-fox']);
  const middle = ' x'.repeat(600);
  expect(secrets.hide(`brown-fox${middle}`)).toBe(`<hidden>${middle}`);
  expect(secrets.hide(`${middle}the-quick-b`)).toBe(`${middle}<hidden>`);
  expect(secrets.hide(`${middle}the-quiet`)).toBe(`${middle}the-quiet`);
  expect(secrets.hide(`fox${middle}the`)).toBe(`fox${middle}the`);
});

test('of values that a text was cut within, the longest part is hidden', () => {
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

describe('of very many values and lines', () => {
  const line = (index: number): string => Buffer.from(String(index).padEnd(48, '~')).toString('base64');
  const bundle = Array.from({ length: 16_000 }, (_, index) => line(index)).join('\n');

  test('each is hidden, in texts without number', () => {
    secrets.set('s', [bundle]);
    const told = Array.from({ length: 16_000 }, (_, index) => secrets.hide(`cannot parse "${line(index)}" in it`));
    // The further lines are known by their beginnings, so the rest of the text is hidden too.
    expect(new Set(told)).toEqual(new Set(['cannot parse "<hidden>" in it', 'cannot parse "<hidden>']));
    expect(secrets.hide('cannot parse it: no such file')).toBe('cannot parse it: no such file');
  });

  test('they take little memory, and few of them in a text little work', () => {
    const values = Array.from({ length: 10 }, (_, value) =>
      Buffer.from(
        Array.from({ length: 100_000 }, (_line, index) => `${(value * 100_000 + index) * 7919}-x`).join('\n'),
      ),
    );
    const before = usedHeapBytes();
    secrets.set('s', values);
    expect(secrets.hide('told: 7911081-x and more')).toBe('told: <hidden> and more');
    expect(secrets.hide('told: 7918992081-x\nand more')).toBe('told: <hidden>\nand more');
    expect(usedHeapBytes() - before).toBeLessThan(60 * 1024 * 1024);
  });

  test('short values are hidden where they stand alone', () => {
    const values = Array.from({ length: 6000 }, (_, index) => `k${String(index).padStart(4, '0')}`);
    secrets.set('s', values);
    expect(secrets.hide('k0001 k5999 xk5999')).toBe('<hidden> <hidden> xk5999');
    secrets.set('other', ['another-value']);
    expect(secrets.hide('another-valuek5999')).toBe('<hidden><hidden>');
  });

  test('a line is hidden also behind a value that it begins with', () => {
    const user = (index: number): string => `user${String(index).padStart(5, '0')}:$apr1$hash${index}xyz`;
    secrets.set('users', [Array.from({ length: 1500 }, (_, index) => user(index)).join('\n')]);
    secrets.set('name', ['user01400']);
    expect(secrets.hide(`cannot parse ${user(1400)}\nin it`)).toBe('cannot parse <hidden>\nin it');
  });

  test('a value is hidden also where its first line is short', () => {
    secrets.set(
      's',
      Array.from({ length: 5001 }, (_, index) => `k\n${String(index).padStart(6, '0')}z`),
    );
    expect(secrets.hide('told k\n005000z and more')).toBe('told <hidden>');
  });

  test('a line is hidden also when it is removed', () => {
    secrets.set('s', [bundle]);
    secrets.set('s', []);
    expect(secrets.hide(`told ${line(15_999)}`)).toBe('told <hidden>');
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

  test('beyond the limit of that work, the rest of a text counts as a part of a value', () => {
    secrets.set('s', [`${'a'.repeat(60_000)}b`]);
    const middle = ' x'.repeat(600);
    const hidden = secrets.hide(`${middle} ${'a'.repeat(50_000)}c`);
    // The comparisons of 81 places, each with all of the rest, reach the limit.
    expect(hidden).toBe(`${middle} ${'a'.repeat(81)}<hidden>`);
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
  'the result is that of one search after the other',
  () => {
    const input = fc.record({
      values: fc.array(fc.oneof(texts(14), runs), { minLength: 1, maxLength: 8 }),
      more: fc.array(texts(14), { maxLength: 4 }),
      names: fc.array(texts(8), { maxLength: 2 }),
      pieces,
      repeat: fc.constantFrom(1, 1, 40),
    });
    const check = fc.property(input, ({ values, more, names, pieces: parts, repeat }) => {
      const [own, plain] = [new SecretValues(), new PlainSecretValues()];
      for (const one of [own, plain]) {
        one.set('s', [...values, ...more]);
        one.set('s', values);
        one.setPublicNames('s', names);
      }
      const text = parts
        .map((part) => toldPiece(part, values))
        .join('')
        .repeat(repeat);
      expect(own.hide(text)).toBe(plain.hide(text));
    });
    fc.assert(check, propertyRuns(2000));
  },
  propertyTimeoutMs,
);

function toldPiece(piece: string | number, values: readonly string[]): string {
  if (typeof piece === 'string') return piece;
  return tell(values[piece % values.length] ?? '', told[piece % told.length] ?? '');
}
