import { expect, test } from 'vitest';
import { redactedEntry, singleLineEntry } from '../../../src/node/log/create-logger.ts';
import { textLine } from '../../../src/node/log/log-text.ts';
import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';

const secrets = new SecretValues();
secrets.set('s', ['correct-"horse"']);

test('no text of an entry tells a Secret, however deep it is', () => {
  const entry = {
    level: 40,
    time: 1,
    msg: 'said correct-"horse"',
    err: { message: 'exec: "correct-\\"horse\\""', cause: { stack: 'Error: correct-"horse"\n    at a' } },
    list: ['correct-"horse"'],
  };
  expect(redactedEntry(JSON.stringify(entry), secrets)).toEqual({
    level: 40,
    time: 1,
    msg: 'said <hidden>',
    err: { message: 'exec: "<hidden>"', cause: { stack: 'Error: <hidden>\n    at a' } },
    list: ['<hidden>'],
  });
});

test('a fact has 4 KiB at most, and an entry 16 KiB', () => {
  const long = 'x'.repeat(10_000);
  const entry = redactedEntry(JSON.stringify({ a: long, b: long, c: long, d: long, e: long, f: long }), secrets);
  const lengths = Object.values(entry).map((text) => String(text).replace(/ … .*/, '').length);
  expect(lengths.slice(0, 3)).toEqual([4096, 4096, 4096]);
  expect(lengths.reduce((sum, length) => sum + length)).toBeLessThanOrEqual(16 * 1024);
  expect(entry['f']).toBe(' … 10000 bytes left out');
});

test('no text begins a line of the text log, whatever a container says', () => {
  const said = 'probe failed\n[07:08:09.000] ERROR: forged \u001b[31mred\u202e';
  const line = textLine(
    singleLineEntry({ level: 40, time: 1, msg: said, pod: said, [said]: 1, reason: [said], err: said }),
  );
  // An error has a line of its own below, which is indented.
  expect(
    line
      .trimEnd()
      .split('\n')
      .map((part) => part.slice(0, 4)),
  ).toEqual([line.slice(0, 4), '    ']);
  expect(['\u001b', '\u202e'].filter((character) => line.includes(character))).toEqual([]);
  expect(line).toContain(String.raw`probe failed\n[07:08:09.000] ERROR: forged \x1b[31mred\u202e`);
});

test('only the calls of a stack have their own lines', () => {
  const stack =
    'Error: said\n[07:08:09.000] ERROR: forged\n    at call (a.ts:1:1)\n    at other (b.ts:2:2)\nforged too';
  expect(singleLineEntry({ err: { stack } })).toEqual({
    err: {
      stack:
        String.raw`Error: said\n[07:08:09.000] ERROR: forged` +
        '\n    at call (a.ts:1:1)\n' +
        String.raw`    at other (b.ts:2:2)\nforged too`,
    },
  });
});
