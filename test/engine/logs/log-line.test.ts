import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseLogLine } from '../../../src/engine/logs/log-line.ts';

interface Case {
  in: { line?: string; lineBase64?: string };
  out: { ok: boolean; format?: string; stream?: string; timestamp?: string; log?: string; logBase64?: string };
}

const table = JSON.parse(readFileSync(new URL('../../golden/tables/cri-log-line.json', import.meta.url), 'utf8')) as {
  cases: Case[];
};

describe('parseLogLine', () => {
  test.each(table.cases)('parses as the kubelet does: $in', ({ in: given, out }) => {
    const line =
      given.lineBase64 === undefined ? Buffer.from(given.line ?? '') : Buffer.from(given.lineBase64, 'base64');
    const parsed = parseLogLine(line);
    const expected = out.logBase64 === undefined ? Buffer.from(out.log ?? '') : Buffer.from(out.logBase64, 'base64');
    expect(parsed).toEqual(
      out.ok ? { format: out.format, stream: out.stream, timestamp: out.timestamp, log: expected } : undefined,
    );
  });

  test('reads only the format that is asked for', () => {
    const line = Buffer.from('2024-05-06T07:08:09Z stdout F x\n');
    expect(parseLogLine(line, 'docker-json')).toBeUndefined();
    expect(parseLogLine(Buffer.from('{"log":"x"}\n'), 'cri')).toBeUndefined();
  });

  test('keeps bytes that are not text', () => {
    const line = Buffer.concat([Buffer.from('2024-05-06T07:08:09Z stderr P '), Buffer.of(0xff, 0, 0xc3, 0x0a)]);
    expect(parseLogLine(line)?.log).toEqual(Buffer.of(0xff, 0, 0xc3));
  });

  test.each([
    ['2024-05-06T7:08:09Z', '2024-05-06T07:08:09.000000000Z'],
    ['2024-05-06T07:08:09+00:00', '2024-05-06T07:08:09.000000000Z'],
    ['2024-02-29T07:08:09.5+05:45', '2024-02-29T07:08:09.500000000+05:45'],
    ['2023-02-29T07:08:09Z', undefined],
    ['2024-05-06T07:08:60Z', undefined],
    ['2024-05-06T07:08:09+25:00', undefined],
  ])('takes the time %s for %s', (time, expected) => {
    expect(parseLogLine(Buffer.from(`${time} stdout F x\n`))?.timestamp).toBe(expected);
  });
});
