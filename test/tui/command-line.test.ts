import { expect, test } from 'vitest';
import type { ContainerState } from '../../src/api/types.ts';
import { changedLogs, commandText, decideCommand, runningContainer, splitArgs } from '../../src/tui/command-line.ts';
import { makeEntry } from './make-snapshot.ts';

const free = { isReadOnly: false, isConfirmed: false, pod: 'web' };

test.each([
  ['a command that reads is shown', ['explain', 'db'], free, { type: 'shows', args: ['explain', 'db'] }],
  ['one that stops something asks', ['stop', 'db'], free, { type: 'asks', args: ['stop', 'db'] }],
  [
    'and is shown once confirmed',
    ['stop', 'db'],
    { ...free, isConfirmed: true },
    { type: 'shows', args: ['stop', 'db'] },
  ],
  ['a pod that is left out is the selected one', ['retry'], free, { type: 'shows', args: ['retry', 'web'] }],
  ['ps lists all pods', ['ps'], free, { type: 'shows', args: ['ps'] }],
  ['exec takes the terminal', ['exec', 'web', 'sh'], free, { type: 'takesTerminal', args: ['exec', 'web', 'sh'] }],
  [
    'a read-only screen changes nothing',
    ['retry'],
    { ...free, isReadOnly: true },
    { type: 'refuses', message: 'retry changes pods: the screen is read-only' },
  ],
  ['a read-only screen reads', ['logs'], { ...free, isReadOnly: true }, { type: 'shows', args: ['logs', 'web'] }],
  [
    'others are refused',
    ['down'],
    free,
    { type: 'refuses', message: '"down" is not a command of the screen; ? lists them' },
  ],
  [
    'names of objects are no commands',
    ['constructor'],
    free,
    { type: 'refuses', message: '"constructor" is not a command of the screen; ? lists them' },
  ],
] as const)('%s', (_title, words, settings, expected) => {
  expect(decideCommand(words, settings)).toEqual(expected);
});

test.each([
  ...['start', 'retry', 'hold', 'unhold', 'cp', 'checkpoint', 'port-forward'],
  ...['restart', 'stop', 'rollback', 'exec', 'attach'],
])('a read-only screen refuses %s', (verb) => {
  expect(decideCommand([verb, 'web'], { ...free, isReadOnly: true, isConfirmed: true })).toEqual({
    type: 'refuses',
    message: `${verb} changes pods: the screen is read-only`,
  });
});

test.each([
  ['rollback', 'rollback web'],
  ['rollback --to 2', 'rollback web --to 2'],
  ['rollback --to=2', 'rollback web --to=2'],
  ['rollback db --to 2', 'rollback db --to 2'],
  ['logs -c side -f', 'logs web -c side -f'],
  ['restart --all', 'restart --all'],
  ['stop -l app=web', 'stop -l app=web'],
  ['wait --for Ready', 'wait web --for Ready'],
  ['port-forward 8080:80 :53', 'port-forward web 8080:80 :53'],
  ['port-forward db 8080', 'port-forward db 8080'],
  ['exec', 'exec -it -c side web -- sh'],
  ['exec -- ls /', 'exec -it -c side web -- ls /'],
  ['exec -c main', 'exec -it -c main web -- sh'],
  ['exec -i -- cat', 'exec -i -c side web -- cat'],
  ['exec db -- ls', 'exec db -- ls'],
])('%s means %s', (typed, expected) => {
  const selected = { isReadOnly: false, isConfirmed: true, pod: 'web', container: 'side' };
  expect(decideCommand(typed.split(' '), selected)).toMatchObject({ args: expected.split(' ') });
});

const running: ContainerState = { running: { startedAt: '2025-03-01T11:00:00Z' } };
const crashed: ContainerState = { waiting: { reason: 'CrashLoopBackOff' } };

test.each<[what: string, main: ContainerState, side: ContainerState, expected: string | undefined]>([
  ['the one that runs', crashed, running, 'side'],
  ['the first one, which exec takes by itself', running, running, undefined],
  ['the first one, though the other has crashed', running, crashed, undefined],
  ['none if none runs', crashed, crashed, undefined],
])('a shell opens in %s', (_what, main, side, expected) => {
  const entry = makeEntry('web');
  const [container] = entry.pod.spec.containers;
  const [status] = entry.pod.status?.containerStatuses ?? [];
  if (container === undefined || status === undefined) throw new Error('a pod has a container');
  const pod = {
    ...entry.pod,
    spec: { ...entry.pod.spec, containers: [container, { ...container, name: 'side' }] },
    status: {
      ...entry.pod.status,
      containerStatuses: [
        { ...status, state: main },
        { ...status, name: 'side', state: side },
      ],
    },
  };
  expect(runningContainer({ pod })).toBe(expected);
});

test('words are split and shown as in a shell', () => {
  const words = splitArgs(`exec web -- sh -c "echo it's"`);
  expect(words).toEqual(['exec', 'web', '--', 'sh', '-c', "echo it's"]);
  expect(commandText(words)).toBe(`kubelet-ts exec web -- sh -c 'echo it'\\''s'`);
});

test.each([
  ['t', ['logs', '-f', 'web'], ['logs', '--timestamps', '-f', 'web']],
  ['t', ['logs', '--timestamps', '-f', 'web'], ['logs', '-f', 'web']],
  ['p', ['logs', '-f', 'web'], ['logs', '-p', 'web']],
  ['p', ['logs', '-p', 'web'], ['logs', '-f', 'web']],
  ['c', ['logs', '-f', 'web'], ['logs', '-f', 'web', '-c', 'b']],
  ['c', ['logs', '-f', 'web', '-c', 'b'], ['logs', '-f', 'web', '-c', 'a']],
  ['t', ['explain', 'web'], undefined],
])('%s changes %j', (input, words, expected) => {
  expect(changedLogs(words, input, ['a', 'b'])).toEqual(expected);
});
