import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { showLines } from '../../../src/commands/run/line-mode.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeCommands, FakeView } from '../../tui/fake-terminal.ts';
import { makeDied, makeEntry, makeRecorded, makeSnapshot, noon } from '../../tui/make-snapshot.ts';

test('the line mode prints pods, then changes, and runs what is typed', async () => {
  const [view, clock, commands] = [
    new FakeView(makeSnapshot([makeEntry('web')])),
    new FakeClock(noon),
    new FakeCommands(),
  ];
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const ended = showLines({ view, stdin, stdout, commands, clock, isReadOnly: false });
  view.emit(makeDied(1));
  view.current = makeSnapshot([]);
  await clock.advance(1000);
  view.lost = { since: noon, message: 'the agent has exited' };
  await clock.advance(1000);
  stdin.end('restart web\ny\nexec web\nq\n');
  await ended;
  stdout.end();
  expect(await text(stdout)).toBe(`kubelet-ts edge1, 1 pods. Type a command such as explain POD, or q.
default/web Running, ready 1/1, restarts 0
12:00:00 default/web ContainerDied main 0123456789abc exit 1
default/web is gone
LOST: the agent has exited
Type y to run: kubelet-ts restart --root-dir /k web
$ kubelet-ts restart --root-dir /k web
In a shell: kubelet-ts exec --root-dir /k web
`);
  expect(commands.started.map(({ words }) => words)).toEqual([['restart', '--root-dir', '/k', 'web']]);
});

test('the line mode prints the newest 20 events of a second, and an empty line ends a command that follows', async () => {
  const [view, clock, commands] = [new FakeView(makeSnapshot()), new FakeClock(noon), new FakeCommands()];
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const ended = showLines({ view, stdin, stdout, commands, clock, isReadOnly: false });
  view.emit(...Array.from({ length: 25 }, (_, index) => makeRecorded('Pulled', `image ${index}`)));
  await clock.advance(1000);
  stdin.write('logs -f web\n\n');
  while (commands.ended.length === 0) await nextTurn();
  const logs = ['logs', '--root-dir', '/k', '-f', 'web'];
  expect([commands.started.map(({ words }) => words), commands.ended]).toEqual([[logs], [logs]]);
  stdin.end('q\n');
  await ended;
  stdout.end();
  const lines = (await text(stdout)).split('\n');
  expect(lines.slice(1, 3)).toEqual(['5 events were omitted', '12:00:00 default/web Pulled image 5']);
  expect(lines.filter((line) => line.includes(' Pulled '))).toHaveLength(20);
});
