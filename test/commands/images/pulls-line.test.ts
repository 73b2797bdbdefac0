import { expect, test } from 'vitest';
import { PullsLine } from '../../../src/commands/images/pulls-line.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

function lineOn(isTTY: boolean) {
  const written: string[] = [];
  const clock = new FakeClock();
  const output = { isTTY, write: (text: string) => written.push(text) };
  return { line: new PullsLine(3, { output, clock }), output, written, clock };
}

test('on a terminal a line changes below what the pulls print', () => {
  const { line, output, written } = lineOn(true);
  line.progressed({ receivedBytes: 500_000 });
  line.progressed({ receivedBytes: 1_000_000, totalBytes: 4_000_000 });
  line.ended(() => output.write('Pulled image: app\n'));
  line.close();
  expect(written).toEqual([
    '\rPulling images: 0 of 3 done, 0.5 MB\u001B[K',
    '\rPulling images: 0 of 3 done, 25% 1.0/4.0 MB\u001B[K',
    '\r\u001B[K',
    'Pulled image: app\n',
    '\rPulling images: 1 of 3 done, 25% 1.0/4.0 MB\u001B[K',
    '\r\u001B[K',
  ]);
});

test('next to a terminal there is a line every ten seconds, until all have ended', async () => {
  const { line, output, written, clock } = lineOn(false);
  await clock.advance(9_999);
  line.progressed({ receivedBytes: 1_000_000, totalBytes: 4_000_000 });
  await clock.advance(1);
  line.ended(() => output.write('Pulled image: app\n'));
  await clock.advance(10_000);
  line.close();
  await clock.advance(60_000);
  expect(written).toEqual([
    'Pulling images: 0 of 3 done, 25% 1.0/4.0 MB\n',
    'Pulled image: app\n',
    'Pulling images: 1 of 3 done, 25% 1.0/4.0 MB\n',
  ]);
  expect(clock.pending).toBe(0);
});
