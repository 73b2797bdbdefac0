import { expect, test } from 'vitest';
import { ScreenTerminal } from '../../src/tui/screen-terminal.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeProcess, FakeStdin, FakeStdout } from './fake-terminal.ts';

const ignore = (): void => undefined;
const frame = (text: string) => ({ columns: 40, rows: 1, sections: [{ name: 'header' as const, rows: [text] }] });

test('a frame is there at once, and is drawn by ink as soon as it is loaded', () => {
  const stdout = new FakeStdout(40, 1);
  const stdin = new FakeStdin().asReadStream();
  const hooks = { onKey: ignore, onBack: ignore, onEnd: ignore, isInForeground: () => true };
  const terminal = new ScreenTerminal({
    ...{ stdout, stdin, ...hooks, clock: new FakeClock(), guarded: new FakeProcess() },
  });
  terminal.paint(frame('no ink yet'));
  const before = stdout.screen();
  void terminal.mount(({ onFrame }) => ({
    draw: ({ sections }) => {
      onFrame(`${sections[0]?.rows[0] ?? ''}, by ink`);
    },
    listen: ignore,
    unmount: ignore,
    exited: Promise.resolve(),
  }));
  const written = terminal.paint(frame('a frame'));
  const update = '\u001b[?2026h\u001b[1;1Ha frame, by ink\u001b[?2026l';
  expect([before, stdout.writes.at(-1), written]).toEqual([['no ink yet'], update, update.length]);
  terminal.close();
});
