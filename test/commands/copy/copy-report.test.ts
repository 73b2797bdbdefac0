import { expect, test } from 'vitest';
import { CopyReport } from '../../../src/commands/copy/copy-report.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { textStream } from './text-stream.ts';

test('a terminal shows counts, the rate and a bar for a large file, five times a second', async () => {
  const clock = new FakeClock();
  const stderr = textStream(80);
  const report = new CopyReport({ stderr, clock });
  report.entry('tree');
  report.entry('tree/\x1b[2J', 2_000_000);
  await clock.advance(1000);
  report.bytes(1_000_000);
  report.bytes(1_000);
  report.end();
  expect(stderr.text().split('\r\x1b[K')).toEqual([
    '',
    '1 entries, 0 B, 0 B/s  tree',
    '2 entries, 1.0 MB, 1.0 MB/s [##########..........] 50% tree/\\x1b[2J',
    '',
  ]);
});
