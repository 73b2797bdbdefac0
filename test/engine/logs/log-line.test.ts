import { describe, expect, test } from 'vitest';
import { parseLogLine } from '../../../src/engine/logs/log-line.ts';

describe('parseLogLine', () => {
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
