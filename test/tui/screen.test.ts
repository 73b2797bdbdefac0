import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import type { EngineSnapshot } from '../../src/engine/view/snapshot.ts';
import { displayWidth } from '../../src/text/display-width.ts';
import { runScreen, type Screen } from '../../src/tui/screen.ts';
import type { Theme } from '../../src/tui/theme.ts';
import { FakeCommands, FakeProcess, FakeStdin, FakeStdout, FakeView, ScreenClock } from './fake-terminal.ts';
import { makeDied, makeEntry, makeRecorded, makeSnapshot, noon, refOf } from './make-snapshot.ts';

const screens: Screen[] = [];
afterEach(() => {
  screens.splice(0).forEach((screen) => {
    screen.unmount();
  });
});

interface Surroundings {
  theme?: Theme;
  hasColors?: boolean;
  isInForeground?: () => boolean;
}

function start(
  shown: EngineSnapshot | FakeView,
  size: { columns: number; rows: number },
  stdin = new FakeStdin(),
  { theme = 'dark', hasColors = false, isInForeground = () => true }: Surroundings = {},
) {
  const view = shown instanceof FakeView ? shown : new FakeView(shown);
  const clock = new ScreenClock(noon);
  const stdout = new FakeStdout(size.columns, size.rows);
  stdout.colors = hasColors;
  const guarded = new FakeProcess();
  const commands = new FakeCommands();
  const left: string[] = [];
  const onLeave = (leaving: string) => left.push(leaving);
  const screen = runScreen({
    view,
    stdout,
    stdin: stdin.asReadStream(),
    commands,
    onLeave,
    clock,
    guarded,
    theme,
    isInForeground,
    logFile: '/var/log/k.log',
  });
  screens.push(screen);
  /** Types, and waits until the screen asked for a frame because of it. */
  const type = async (text: string) => {
    await stdin.ready();
    const asked = clock.nextTimer();
    stdin.write(text);
    await asked;
    await clock.advance(100);
  };
  return { commands, view, clock, stdout, stdin, guarded, left, screen, type };
}

/** Types what the screen ignores, so that it asks for no frame. Resolves when the screen has read it. */
async function read(stdin: FakeStdin, text: string): Promise<void> {
  const isRead = once(stdin, 'readable');
  stdin.write(text);
  await isRead;
}

const small = { columns: 60, rows: 12 };
const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J';
const restore = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';

const crashing = makeEntry('web', {
  containerState: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 20s' } },
  container: {
    restartCount: 3,
    lastState: {
      terminated: {
        exitCode: 1,
        reason: 'Error',
        startedAt: new Date(noon - 35_000).toISOString(),
        finishedAt: new Date(noon - 30_000).toISOString(),
      },
    },
  },
});

describe('frames', () => {
  test('show pods, events and keys', async () => {
    const { view, clock, stdout } = start(makeSnapshot([makeEntry('db'), crashing]), small);
    view.emit(makeDied(137), makeRecorded('Pulled', 'Image is there'));
    await clock.advance(200);
    expect(stdout.screen()).toEqual([
      'kubelet-ts edge1  containerd 1.7.24  pods 1/2 ready  file 2',
      '  NAMESPACE NAME READY STATUS           RESTARTS AGE',
      '> default   web  0/1   CrashLoopBackOff 3        60m',
      '    exits with code 1; next try in 49s',
      '  default   db   1/1   Running          0        60m',
      '── EVENTS news ─────────────────────────────────────────────',
      '12:00:00 web ContainerDied    main 0123456789abc exit 137',
      '12:00:00 web Pulled           Image is there',
      '',
      '',
      '',
      'q leave  ? help  enter pod  l logs  x explain  : command',
    ]);
  });

  test('show what is wrong with manifests and with the runtime', () => {
    const problem = {
      origin: '/manifests/web.yaml',
      line: 7,
      column: 5,
      field: 'spec.containers',
      message: 'Required value',
      hint: 'add a container',
      severity: 'error' as const,
    };
    const snapshot = makeSnapshot([], {
      runtime: { endpoint: '', chosenBecause: '', name: '', version: '', error: 'no answer' },
      sources: [
        { source: 'file', where: '/manifests', ready: true, pods: 0, problems: [problem] },
        { source: 'http', where: 'http://edge/pods', ready: false, pods: 0, problems: [] },
      ],
    });
    const { stdout } = start(snapshot, { columns: 72, rows: 16 });
    expect(stdout.screen()).toEqual([
      'kubelet-ts edge1  runtime: no answer  pods 0/0 ready  file 0 (1 error)',
      'http not read yet  PLEG evented, relist 3s ago  up 120m',
      '  PODS',
      '  No pods. Put a manifest into a source.',
      '── EVENTS news ─────────────────────────────────────────────────────────',
      '',
      '',
      '',
      '',
      '',
      '',
      '',
      '── PROBLEMS 1 ──────────────────────────────────────────────────────────',
      'error web.yaml:7:5 spec.containers: Required value',
      '  hint: add a container',
      'q leave  ? help  enter pod  l logs  x explain  : command  / filter',
    ]);
  });

  test('show the details of the selected pod', async () => {
    const entry = { ...crashing, events: [makeRecorded('Started', 'Container started'), makeDied(1)] };
    const { stdout, type } = start(makeSnapshot([entry]), { columns: 80, rows: 21 });
    await type('\r');
    expect(stdout.screen()).toEqual([
      'kubelet-ts edge1  containerd 1.7.24  pods 0/1 ready  file 1',
      'PLEG evented, relist 3s ago  up 120m',
      'default/web',
      'Status      CrashLoopBackOff, ready 0/1, restarts 3 (30s ago)',
      'Phase       Running, age 60m, QoS BestEffort',
      'Pod IP      10.88.0.2',
      'UID         uid-web from file',
      'Conditions  Ready=False',
      'Worker      sync, next sync 50s',
      'Reason      exits with code 1',
      'To do       Read its output: kubelet-ts logs -p web',
      'To do       Correct the program, its arguments or its configuration.',
      '',
      'CONTAINER  KIND     READY  RESTARTS  STATE',
      'main       app      no     3         Waiting: CrashLoopBackOff: back-off 20s  b…',
      '  last: Error, exit 1, 30s ago, ran 5s',
      '',
      'EVENTS (2, newest first)',
      '12:00:00 ContainerDied    main 0123456789abc exit 1',
      '12:00:00 Started          Container started',
      'q leave  ? help  esc back  enter pod  l logs  x explain  : command  / filter',
    ]);
  });

  test('show 50 pods in 80x24 around the selected one, one row each', async () => {
    const pods = Array.from({ length: 50 }, (_, index) => makeEntry(`pod-${String(index).padStart(2, '0')}-edge1`));
    const { stdout, type } = start(makeSnapshot(pods), { columns: 80, rows: 24 });
    const shown = () => stdout.screen().filter((row) => row.includes('pod-'));
    expect([shown().length, shown()[0], stdout.screen().at(-1)?.slice(0, 24)]).toEqual([
      20,
      '> default   pod-00-edge1 1/1   Running 0        60m',
      '20 of 50 pods  q leave  ',
    ]);
    await type('G');
    expect([shown().length, shown().at(-1)]).toEqual([20, '> default   pod-49-edge1 1/1   Running 0        60m']);
  });

  test('never pass the edges of the terminal', async () => {
    const pods = [
      makeEntry('a-rather-long-name-of-a-pod-that-somebody-gave-edge1', { namespace: 'kube-system' }),
      crashing,
    ];
    const sizes = [40, 60, 80, 120, 200].flatMap((columns) => [10, 15, 24, 50].map((rows) => ({ columns, rows })));
    const { view, clock, stdout } = start(makeSnapshot(pods), small);
    view.emit(makeRecorded('Failed', 'メッセージ '.repeat(40)));
    const bad: unknown[] = [];
    for (const size of sizes) {
      stdout.resize(size.columns, size.rows);
      await clock.advance(100);
      const screen = stdout.screen();
      if (screen.some((row) => displayWidth(row) > size.columns) || !screen.at(-1)?.startsWith('q leave')) {
        bad.push({ size, screen });
      }
    }
    expect(bad).toEqual([]);
  });

  test('say so when the terminal is too small, and come back when it grows', async () => {
    const { clock, stdout } = start(makeSnapshot([crashing]), small);
    stdout.resize(30, 5);
    await clock.advance(100);
    const tiny = stdout.screen();
    stdout.resize(60, 12);
    await clock.advance(100);
    expect([tiny, stdout.screen()[2]]).toEqual([
      ['Terminal too small: 30x5', 'kubelet-ts needs 40x10.', 'Pods keep running.', '', ''],
      '> default   web  0/1   CrashLoopBackOff 3        60m',
    ]);
  });

  test('are grey while the agent does not answer, and come back with it', async () => {
    const { view, clock, stdout } = start(makeSnapshot([crashing]), { columns: 100, rows: 12 });
    const before = stdout.screen();
    view.lost = { since: noon - 4000, message: 'the agent has exited' };
    await clock.advance(1000);
    const lost = stdout.screen();
    view.lost = undefined;
    await clock.advance(1000);
    expect([lost[0], lost[2], stdout.screen()[0]?.slice(0, 40)]).toEqual([
      'kubelet-ts edge1  LOST for 5s, showing the last known state: the agent has exited',
      '> default   web  0/1   CrashLoopBackOff 3        60m',
      before[0]?.slice(0, 40),
    ]);
  });

  test('say why an agent does not answer yet, and come with it', async () => {
    const { view, clock, stdout, screen } = start(makeSnapshot([]), { columns: 50, rows: 10 });
    view.lost = { since: noon, isStarting: true, message: 'kubelet-ts waits for its runtime: no socket was found' };
    await clock.advance(1000);
    const starting = stdout.screen();
    view.lost = undefined;
    view.current = makeSnapshot([crashing]);
    screen.refresh();
    await clock.advance(100);
    expect([starting.slice(0, 4), stdout.screen()[1]?.slice(0, 6)]).toEqual([
      ['kubelet-ts edge1  STARTING for 1s', '  PODS', '  kubelet-ts waits for its runtime: no socket was', '  found'],
      '  NAME',
    ]);
  });

  test('have no colors where the terminal has none', () => {
    const { stdout } = start(makeSnapshot([makeEntry('db'), crashing]), small);
    // eslint-disable-next-line no-control-regex -- these are colors
    expect(stdout.writes.join('')).not.toMatch(/\u001b\[(3[1-6]|90)m/);
  });
});

describe('a light terminal', () => {
  test('has dark colors', () => {
    const { stdout } = start(makeSnapshot([makeEntry('db'), crashing]), small, new FakeStdin(), {
      theme: 'light',
      hasColors: true,
    });
    expect(stdout.writes.join('')).toContain('\u001b[;38;5;22mRunning');
  });

  test('without colors is not asked', () => {
    const { stdout } = start(makeSnapshot([]), small, new FakeStdin(), { theme: 'auto' });
    expect(stdout.writes.join('')).not.toContain(']11;?');
  });
});

describe('a slow link', () => {
  test('gets at most 10 kB/s for 1,000 events a second, and keys are answered at once', async () => {
    const pods = Array.from({ length: 30 }, (_, index) => makeEntry(`pod-${index}`));
    const { view, clock, stdout, type } = start(makeSnapshot(pods), { columns: 80, rows: 24 });
    await type('\t');
    const before = stdout.writes.length;
    const seconds = 5;
    for (let step = 0; step < seconds * 20; step += 1) {
      view.emit(...Array.from({ length: 50 }, (_, index) => makeRecorded('Pulled', `image ${step}-${index} is there`)));
      await clock.advance(50);
    }
    const sent = stdout.writes.slice(before).join('').length;
    await clock.advance(1000);
    expect({ sent: sent <= 10_000 * seconds, isNewest: stdout.screen().join('\n').includes('image 99-49') }).toEqual({
      sent: true,
      isNewest: true,
    });
    await clock.advance(1000);
    const from = clock.monotonic();
    await type('?');
    expect([stdout.screen().join('\n').includes('PgUp'), clock.monotonic() - from]).toEqual([true, 100]);
  });
});

describe('keys', () => {
  test('filter and select', async () => {
    const { stdout, type } = start(makeSnapshot([makeEntry('db'), crashing]), small);
    await type('/crash\r');
    expect(stdout.screen().slice(1, 4)).toEqual([
      '  NAMESPACE NAME READY STATUS           RESTARTS AGE',
      '> default   web  0/1   CrashLoopBackOff 3        60m',
      '    exits with code 1; next try in 50s',
    ]);
  });

  test('i opens the page of the engine, which shows new latencies, and closes it', async () => {
    const { clock, stdout, view, type } = start(makeSnapshot([crashing]), { columns: 80, rows: 12 });
    const before = stdout.screen();
    await type('i');
    view.current = makeSnapshot([crashing], { pleg: { mode: 'evented', lastRelistAt: noon, lastRelistMs: 32 } });
    view.emit({ at: noon, type: 'SyncFinished', pod: refOf('web'), durationMs: 68, nextSyncAt: noon + 50_000 });
    await clock.advance(1000);
    const page = stdout.screen().slice(1, 8);
    await type('i');
    expect(page).toEqual([
      'ENGINE',
      'PLEG     evented, last relist 1s ago in 32ms  ▂█',
      'syncs    2 in the last minute, slowest 68ms  ▅█',
      'workers  1 sync; 0 busy, 0 with an update waiting',
      'source   file /manifests: 1 pod, not read yet',
      '',
      '  NAMESPACE NAME WORKER LAST SYNC     NEXT',
    ]);
    expect(stdout.screen().slice(1, 3)).toEqual(before.slice(1, 3));
  });

  test.each([
    ['q', 'LEAVE THE SCREEN'],
    ['help', 'KEYS'],
  ])(':%s opens %s', async (word, title) => {
    const { commands, stdout, type } = start(makeSnapshot([crashing]), { columns: 80, rows: 24 });
    await type(':');
    await type(`${word}\r`);
    expect([commands.started, stdout.screen()[2]]).toEqual([[], title]);
  });

  test(':po leads back to the pods', async () => {
    const { stdout, type } = start(makeSnapshot([crashing]), { columns: 80, rows: 24 });
    await type('\r');
    const details = stdout.screen()[2];
    await type(':');
    await type('po\r');
    expect([details?.slice(0, 15), stdout.screen()[3]?.slice(0, 15)]).toEqual(['default/web', '> default   web']);
  });

  test.each([
    ['q and d', 'q', 'd', 'detach'],
    ['q and s', 'q', 's', 'stop'],
    ['ctrl-c twice', '\u0003', '\u0003', 'stop'],
  ])('%s give the terminal back and tell the caller', async (_title, first, second, leaving) => {
    const { stdout, stdin, left, screen, type } = start(makeSnapshot(), small);
    await type(first);
    expect(stdout.screen().slice(1, 8)).toEqual([
      'LEAVE THE SCREEN',
      '  d    detach: kubelet-ts keeps running',
      '  s    stop it: pods keep running unsupervised',
      '  esc  stay',
      '',
      'Log: /var/log/k.log',
      '',
    ]);
    stdin.write(second);
    await screen.exited;
    expect([left, stdin.isRaw, stdout.writes.at(-1)]).toEqual([[leaving], false, restore]);
  });

  test('a pasted text does not answer the question of q', async () => {
    const { stdout, stdin, left, screen, type } = start(makeSnapshot([crashing]), small);
    await type('requests');
    const asked = stdout.screen()[1];
    await read(stdin, 'details');
    stdin.write('s');
    await screen.exited;
    expect([asked, left]).toEqual(['LEAVE THE SCREEN', ['stop']]);
  });

  test('two keys that arrive together are a question and its answer', async () => {
    const { stdin, left, screen } = start(makeSnapshot([crashing]), small);
    stdin.write('qs');
    await screen.exited;
    expect(left).toEqual(['stop']);
  });

  test('esc stays, also where the terminal is too small for more than the question', async () => {
    const { clock, stdout, left, type } = start(makeSnapshot([crashing]), small);
    stdout.resize(30, 5);
    await clock.advance(100);
    await type('q');
    expect(stdout.screen()[1]).toBe('  d    detach: kubelet-ts kee…');
    stdout.resize(60, 12);
    await clock.advance(100);
    await type('q');
    expect([stdout.screen()[2], left]).toEqual(['> default   web  0/1   CrashLoopBackOff 3        60m', []]);
  });

  test('ctrl-z gives the terminal back and stops the screen, which is there again when it is continued', async () => {
    const { clock, stdout, stdin, guarded, type } = start(makeSnapshot([crashing]), small);
    await stdin.ready();
    const killed = once(guarded, 'killed');
    stdin.write('\u001a');
    await killed;
    expect([guarded.kills, stdout.writes.at(-1)]).toEqual([[[0, 'SIGTSTP']], restore]);
    guarded.emit('SIGCONT');
    await clock.advance(100);
    expect([stdin.isRaw, stdout.screen()[2]]).toEqual([true, '> default   web  0/1   CrashLoopBackOff 3        60m']);
    await type('q');
    expect(stdout.screen()[1]).toBe('LEAVE THE SCREEN');
  });

  test('a screen in the background leaves the terminal alone, and is there again in the foreground', async () => {
    let isInForeground = true;
    const settings = { isInForeground: () => isInForeground };
    const { clock, stdout, stdin, guarded } = start(makeSnapshot([crashing]), small, new FakeStdin(), settings);
    await stdin.ready();
    const killed = once(guarded, 'killed');
    stdin.write('\u001a');
    await killed;
    isInForeground = false;
    guarded.emit('SIGCONT');
    const before = stdout.writes.length;
    await clock.advance(5000);
    expect([stdin.isRaw, stdout.writes.length - before]).toEqual([false, 0]);
    // As after `fg` of a job that is running for the shell: no signal comes.
    isInForeground = true;
    await clock.advance(300);
    expect([stdin.isRaw, stdout.screen()[2]]).toEqual([true, '> default   web  0/1   CrashLoopBackOff 3        60m']);
  });

  test('are not needed: the screen also runs without a keyboard', () => {
    const { stdout } = start(makeSnapshot([crashing]), small, new FakeStdin(false));
    expect(stdout.screen()[2]).toBe('> default   web  0/1   CrashLoopBackOff 3        60m');
  });
});

describe('a large terminal', () => {
  const large = { columns: 120, rows: 40 };
  const words = (pod: string) => ['logs', '--root-dir', '/k', '-f', '--tail', '50', pod];
  const shownLog = (rows: string[]) => rows.slice(rows.findIndex((row) => row.startsWith('── LOG'))).slice(0, 3);

  test('shows events of the last minute and the log of the selected pod', async () => {
    const { commands, clock, stdout, view } = start(makeSnapshot([makeEntry('db'), crashing]), large);
    view.emit(makeRecorded('Pulled', 'Image is there', noon - 90_000), makeDied(137));
    await clock.advance(500);
    commands.started[0]?.say('one\ntwo\n');
    await clock.advance(200);
    expect([commands.started.map((started) => started.words), commands.ended]).toEqual([[words('default/web')], []]);
    expect([stdout.screen()[5]?.slice(0, 40), ...shownLog(stdout.screen())]).toEqual([
      '── EVENTS news, 1 in the last minute ───',
      `── LOG default/web ${'─'.repeat(101)}`,
      'one',
      'two',
    ]);
  });

  test('follows only the log of a pod that stays selected, and closes the log before', async () => {
    const { commands, clock, stdout, type } = start(
      makeSnapshot([makeEntry('a'), makeEntry('b'), makeEntry('c')]),
      large,
    );
    await clock.advance(500);
    await type('j');
    await type('j');
    await clock.advance(500);
    expect([commands.started.map((started) => started.words), commands.ended]).toEqual([
      [words('default/a'), words('default/c')],
      [words('default/a')],
    ]);
    stdout.resize(80, 24);
    await clock.advance(100);
    expect(commands.ended).toEqual([words('default/a'), words('default/c')]);
  });

  test('opens the log again when a container of the pod has started', async () => {
    const waiting = makeEntry('web', { containerState: { waiting: { reason: 'ContainerCreating' } } });
    const { commands, clock, view } = start(makeSnapshot([waiting]), large);
    await clock.advance(500);
    view.current = makeSnapshot([makeEntry('web', { container: { containerID: 'containerd://1' } })]);
    await clock.advance(2000);
    expect(commands.started.map((started) => started.words)).toEqual([words('default/web'), words('default/web')]);
  });
});

describe('commands', () => {
  const wide = { columns: 98, rows: 12 };

  test('show their output below the command line, and end with esc', async () => {
    const { commands, clock, stdout, stdin, type } = start(makeSnapshot([crashing]), wide);
    await type('l');
    commands.started[0]?.say('one\ntwo\nthree');
    await clock.advance(100);
    const running = stdout.screen().slice(1, 5);
    await type('/');
    await type('TWO\r');
    await type('&');
    const found = stdout.screen().slice(1, 4);
    await type('S');
    await clock.advance(100);
    const saved = stdout.screen().at(-1);
    stdin.write('\u001b');
    await clock.advance(100);
    expect([running, found, commands.saved, saved?.slice(0, 31)]).toEqual([
      ['$ kubelet-ts logs --root-dir /k -f --tail 500 default/web  runs, 3/3', 'one', 'two', 'three'],
      ['$ kubelet-ts logs --root-dir /k -f --tail 500 default/web  runs, 1/1  only /TWO', 'two', ''],
      ['one\ntwo\nthree'],
      'saved: /root/kubelet-ts-logs-ro',
    ]);
  });

  test('that stop something ask before', async () => {
    const { commands, stdout, type } = start(makeSnapshot([crashing]), wide);
    await type('R');
    const asked = stdout.screen().slice(1, 6);
    const before = commands.started.length;
    await type('y');
    expect([asked, before, commands.started.map(({ words }) => words)]).toEqual([
      [
        'RUN THIS?',
        '  $ kubelet-ts restart --root-dir /k default/web',
        '',
        '  y          run it',
        '  esc        change nothing',
      ],
      0,
      [['restart', '--root-dir', '/k', 'default/web']],
    ]);
  });

  test.each(['Ready', ':restart\ry'])('are not confirmed by %j that asked, nor by a later paste', async (pasted) => {
    const { commands, stdout, stdin, type } = start(makeSnapshot([crashing]), wide);
    await type(pasted);
    await read(stdin, 'yes');
    const asked = stdout.screen()[2];
    await type('y');
    expect([asked, commands.started.map(({ words }) => words)]).toEqual([
      '  $ kubelet-ts restart --root-dir /k default/web',
      [['restart', '--root-dir', '/k', 'default/web']],
    ]);
  });

  test('can be typed, about the selected pod if none is named', async () => {
    const { commands, clock, stdout, type } = start(makeSnapshot([crashing]), wide);
    await type(':');
    await type('explain\r');
    commands.started[0]?.end(1);
    await clock.advance(100);
    await clock.advance(100);
    expect([commands.started[0]?.words, stdout.screen()[1]]).toEqual([
      ['explain', '--root-dir', '/k', 'default/web'],
      '$ kubelet-ts explain --root-dir /k default/web  exit 1, 0/0',
    ]);
  });

  test.each([
    ['rollback', 'rollback default/web'],
    ['rollback --to 2', 'rollback default/web --to 2'],
    ['rollback db --to 2', 'rollback db --to 2'],
  ])(':%s asks, and then runs %s', async (typed, words) => {
    const { commands, type } = start(makeSnapshot([crashing]), wide);
    await type(':');
    await type(`${typed}\r`);
    const before = commands.started.length;
    await type('y');
    expect([before, commands.started.map((started) => started.words.join(' '))]).toEqual([
      0,
      [words.replace('rollback', 'rollback --root-dir /k')],
    ]);
  });

  test('that use the terminal get it whole, and give it back', async () => {
    const { commands, clock, stdout, stdin, type } = start(makeSnapshot([crashing]), wide);
    await type('s');
    while (stdout.writes.filter((text) => text === enter).length < 2) await clock.advance(100);
    await clock.advance(100);
    expect([commands.terminal, stdin.isRaw, stdout.screen().at(-1)]).toEqual([
      [['exec', '--root-dir', '/k', '-it', 'default/web', '--', 'sh']],
      true,
      'error: no sh in it: kubelet-ts exec --root-dir /k -it default/web -- sh',
    ]);
  });

  test.each(['SIGINT', 'SIGQUIT'])('that use the terminal get %s alone, and the screen comes back', async (signal) => {
    const { commands, clock, stdout, stdin, guarded, left, screen, type } = start(makeSnapshot([crashing]), wide);
    const lent = [screen.isLent];
    commands.onTerminal = () => {
      guarded.emit(signal);
      lent.push(screen.isLent);
      return Promise.resolve({ exitCode: 130, message: '' });
    };
    await type(':');
    await type('attach web\r');
    while (stdout.writes.filter((text) => text === enter).length < 2) await clock.advance(100);
    await clock.advance(100);
    lent.push(screen.isLent);
    expect([lent, guarded.kills, left, stdin.isRaw, stdout.screen().at(-1)]).toEqual([
      [false, true, false],
      [],
      [],
      true,
      'exit 130: kubelet-ts attach --root-dir /k web',
    ]);
  });

  test('that forward a port stay when their page is closed, in a list', async () => {
    const { commands, clock, stdout, type } = start(makeSnapshot([crashing]), wide);
    for (const port of [8080, 9090]) {
      await type('f');
      await type(`${port}\r`);
      commands.started.at(-1)?.say(`Forwarding from 127.0.0.1:${port} -> ${port}\n`);
      await clock.advance(100);
      await type('q');
    }
    const footer = stdout.screen().at(-1)?.slice(0, 30);
    await type('F');
    const list = stdout.screen().slice(1, 4);
    await type('j');
    await type('\r');
    const page = stdout.screen().slice(1, 3);
    await type('F');
    await type('D');
    const rest = stdout.screen().slice(1, 3);
    const ended = [...commands.ended];
    await type('q');
    commands.started[0]?.end(1);
    await clock.advance(100);
    await clock.advance(100);
    expect({ footer, list, page, rest, ended, note: stdout.screen().at(-1) }).toEqual({
      footer: '2 forwarded ports (F)  q leave',
      list: [
        'FORWARDED PORTS 2',
        '> kubelet-ts port-forward --root-dir /k default/web 8080  Forwarding from 127.0.0.1:8080 -> 8080',
        '  kubelet-ts port-forward --root-dir /k default/web 9090  Forwarding from 127.0.0.1:9090 -> 9090',
      ],
      page: [
        '$ kubelet-ts port-forward --root-dir /k default/web 9090  runs, 1/1',
        'Forwarding from 127.0.0.1:9090 -> 9090',
      ],
      rest: [
        'FORWARDED PORTS 1',
        '> kubelet-ts port-forward --root-dir /k default/web 8080  Forwarding from 127.0.0.1:8080 -> 8080',
      ],
      ended: [commands.started[1]?.words],
      note: 'exit 1: kubelet-ts port-forward --root-dir /k default/web 8080: Forwarding from 127.0.0.1:8080 ->…',
    });
  });

  test('forward nine ports at most', async () => {
    const { commands, stdout, type } = start(makeSnapshot([crashing]), wide);
    for (let port = 8080; port < 8090; port += 1) {
      await type('f');
      await type(`${port}\r`);
      if (port < 8089) await type('q');
    }
    expect([commands.started.length, stdout.screen().at(-1)]).toEqual([
      9,
      'a screen forwards at most 9 ports: F lists them',
    ]);
  });

  test('end with the screen', async () => {
    const { commands, screen, type } = start(makeSnapshot([crashing]), wide);
    await type('l');
    screen.unmount();
    expect(commands.ended).toEqual([commands.started[0]?.words]);
  });
});

test('CPU and memory are sampled every five seconds while the screen is open', async () => {
  const view = new FakeView(makeSnapshot([makeEntry('web')]));
  let samples = 0;
  view.usage = () => {
    samples += 1;
    return Promise.resolve([{ uid: 'uid-web', nanoCores: samples * 1e6, memoryBytes: 3 * 1024 ** 2 }]);
  };
  const { clock, stdout, screen } = start(view, { columns: 120, rows: 12 });
  const counts = [samples];
  for (const ms of [4999, 2, 5000]) {
    await clock.advance(ms);
    counts.push(samples);
  }
  await clock.advance(1000);
  expect([counts, stdout.screen().find((row) => row.startsWith('> default'))]).toEqual([
    [1, 1, 2, 3],
    '> default    web   1/1    Running  0         60m      3m ▃▆█     3Mi ███',
  ]);
  screen.unmount();
  await clock.advance(20_000);
  expect(samples).toBe(3);
});

describe('the beat', () => {
  test('draws five times a second at most, however many events there are', async () => {
    const { view, clock, stdout } = start(makeSnapshot([crashing]), small);
    const [frames, snapshots] = [stdout.writes.length, view.snapshotCount];
    for (let ms = 0; ms < 1000; ms += 1) {
      view.emit(makeRecorded('Pulled', `image ${ms}`));
      await clock.advance(1);
    }
    expect([stdout.writes.length - frames, view.snapshotCount - snapshots]).toEqual([5, 5]);
  });

  test('draws once a second for the ages when nothing happens', async () => {
    // Wide enough for the seconds of the last sync.
    const { view, clock, stdout } = start(makeSnapshot([crashing]), { columns: 120, rows: 12 });
    const [frames, snapshots] = [stdout.writes.length, view.snapshotCount];
    await clock.advance(10_000);
    expect([stdout.writes.length - frames, view.snapshotCount - snapshots]).toEqual([10, 10]);
  });
});

describe('leaving', () => {
  test('restores the terminal and lets go of everything', async () => {
    const { view, clock, stdout, stdin, guarded, left, screen } = start(makeSnapshot(), small);
    await stdin.ready();
    screen.unmount();
    screen.unmount();
    await screen.exited;
    expect(stdout.writes.filter((text) => text === enter || text === restore)).toEqual([enter, restore]);
    expect({
      left,
      raw: stdin.isRaw,
      listeners: view.listenerCount(),
      timers: clock.pending,
      guards: guarded.eventNames(),
      resize: stdout.listenerCount('resize'),
    }).toEqual({ left: [], raw: false, listeners: 0, timers: 0, guards: [], resize: 0 });
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'exit', 'uncaughtExceptionMonitor'])(
    'happens at once on %s',
    async (event) => {
      const { stdout, stdin, guarded } = start(makeSnapshot(), small);
      await stdin.ready();
      guarded.emit(event);
      expect([stdout.writes.at(-1), stdin.isRaw]).toEqual([restore, false]);
    },
  );

  test('happens when the terminal is lost, without a failure', async () => {
    const { stdout, screen, left } = start(makeSnapshot(), small);
    stdout.emit('error', new Error('write EIO'));
    await screen.exited;
    expect(left).toEqual([]);
  });

  test('happens when a frame cannot be drawn, and the caller learns why', async () => {
    const { view, clock, stdout, screen } = start(makeSnapshot(), small);
    const failure = new Error('no snapshot');
    view.snapshot = () => {
      throw failure;
    };
    await clock.advance(1000);
    await expect(screen.exited).rejects.toBe(failure);
    expect(stdout.writes.at(-1)).toBe(restore);
  });
});
