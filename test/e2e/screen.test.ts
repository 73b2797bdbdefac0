import { readFile, stat } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readStat } from '../../src/process/process-identity.ts';
import { programVersion } from '../../src/process/program-version.ts';
import { fetchAgent } from '../../src/server/control/control-client.ts';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';
import { Agent } from './agent.ts';
import { EngineWatch } from './engine-watch.ts';
import { makePod, serve, shell } from './manifests.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

let agent: Agent;
let terminal: VirtualTerminal;

beforeEach(async () => {
  agent = await Agent.create();
  const words = agent.commandLine(['run', agent.manifestsFolder]);
  const settings = 'stty -a | tr " " "\\n" | grep -x -e icanon -e echo';
  terminal = await VirtualTerminal.open(
    `echo before; ${words.join(' ')}; echo "code $?"; ${settings}; exec sleep 3600`,
    { columns: 120, rows: 40, env: agent.environment },
  );
  // The runtime's name comes with the agent's first answer: the screen shows the events after it.
  await terminal.until((screen) => /^kubelet-ts edge1 {2}v\S+ {2}containerd/m.test(screen));
});
afterEach(async () => {
  await terminal.close();
  await agent.cleanUp();
});

const web = makePod('web', { containers: [shell('app', serve)] });

test('a dropped manifest is removed through its worker states and PLEG events on the screen', async () => {
  await agent.write('web.yaml', web);
  await terminal.until((screen) => / web-edge1 +1\/1 +Running /.test(screen));
  await terminal.type('e');
  const running = await terminal.until((screen) => screen.includes('EVENTS all'));
  const happened = running
    .split('\n')
    .map((line) => /^\W*[\d:]{8} default\/web-edge1 +(?<event>\w+ +\w+)/.exec(line)?.groups?.['event'])
    .filter((event) => event !== undefined);
  const inOrder = ['PodAdded', 'Worker sync', 'Created', 'Started', 'ContainerStarted app'];
  const words = happened.map((event) => event.replaceAll(/ +/g, ' '));
  const positions = inOrder.map((event) => words.findIndex((word) => word.startsWith(event)));
  expect({ words, found: positions.every((position) => position >= 0) }).toEqual({ words, found: true });

  await agent.remove('web.yaml');
  await terminal.until((screen) => screen.includes('Worker           terminating'));
  await terminal.until((screen) => /ContainerDied +app \w+ exit 0/.test(screen));
  await terminal.until((screen) => screen.includes(' 0/0 ready'));
});

test('a manifest that is broken is on the screen', async () => {
  await agent.write('broken.yaml', 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: {}}\n');
  const screen = await terminal.until((text) => text.includes('1 error'));
  expect(screen.split('PROBLEMS 1')[1]).toMatch(/broken\.yaml\S* .*spec\.containers/);
});

const socket = (): string => controlSocketPath(agent.rootDir);
const flags = (): string => `--root-dir ${agent.rootDir}`;

describe('leaving', () => {
  let pid: number;
  let before: { id: string; pid: number };
  beforeEach(async () => {
    await agent.write('web.yaml', web);
    await terminal.until((screen) => / web-edge1 +1\/1 +Running /.test(screen));
    expect(await terminal.ask('#{alternate_on} #{cursor_flag}')).toBe('1 0');
    pid = (await fetchAgent(socket()))?.pid ?? 0;
    before = await agent.runningContainer('web');
  });

  test('q and d leave the terminal as it was, and the agent running', async () => {
    await terminal.type('q');
    await terminal.until((text) => text.includes(`Log: ${agent.rootDir}/kubelet-ts.log`));
    await terminal.type('d');
    const screen = await terminal.until((text) => text.includes('\nicanon\necho\n'));
    expect(screen.trimEnd().split('\n')).toEqual([
      'before',
      `kubelet-ts keeps running in the background (pid ${pid}) with 1 pod.`,
      `  list them:   kubelet-ts ps ${flags()}`,
      `  its log:     ${agent.rootDir}/kubelet-ts.log`,
      `  stop it:     kill -INT ${pid} (pods keep running unsupervised)`,
      `  stop all:    kubelet-ts down ${flags()}`,
      'code 0',
      'icanon',
      'echo',
    ]);
    expect(await terminal.ask('#{alternate_on} #{cursor_flag}')).toBe('0 1');
    expect(await fetchAgent(socket())).toEqual({ pid, version: programVersion });
    expect(await agent.cli(['ps', '-o', 'name'])).toEqual({ code: 0, stdout: 'pod/web-edge1\n', stderr: '' });
    expect((await stat(`${agent.rootDir}/kubelet-ts.log`)).mode & 0o777).toBe(0o600);
    expect(await readFile(`${agent.rootDir}/kubelet-ts.log`, 'utf8')).toContain('Container runtime is ready');
  });

  test('q and s stop the agent, and ps reports that pods run unsupervised', async () => {
    await terminal.type('q');
    await terminal.until((text) => text.includes('LEAVE THE SCREEN'));
    await terminal.type('s');
    const screen = await terminal.until((text) => text.includes('\nicanon\necho\n'));
    expect(screen.trimEnd().split('\n')).toEqual([
      'before',
      'kubelet-ts stopped. 1 pod keeps running unsupervised: nothing restarts or probes them.',
      `  list them:  kubelet-ts ps ${flags()}`,
      `  its log:    ${agent.rootDir}/kubelet-ts.log`,
      '  supervise:  kubelet-ts run with the same arguments',
      `  stop them:  kubelet-ts down ${flags()}`,
      'code 0',
      'icanon',
      'echo',
    ]);
    expect(await fetchAgent(socket())).toBeUndefined();
    expect(await agent.runningContainer('web')).toEqual(before);
    expect(await agent.cli(['ps', '-o', 'name'])).toEqual({
      code: 0,
      stdout: 'pod/web-edge1\n',
      stderr: `warning: no kubelet-ts runs on ${agent.rootDir}: nothing restarts or probes pods\n`,
    });
  });

  test('a terminal that is closed, and a screen that is stopped, stop no agent', async () => {
    await terminal.press('C-z');
    await terminal.close();
    expect(await fetchAgent(socket())).toEqual({ pid, version: programVersion });
    await agent.remove('web.yaml');
    const watch = await EngineWatch.open(agent.rootDir);
    await watch.until(({ pods }) => pods.length === 0);
    watch.close();
  });

  test('SIGTERM ends the agent, and says that pods run on', async () => {
    process.kill(await screenPid(), 'SIGTERM');
    const screen = await terminal.until((text) => text.includes('\nicanon\necho\n'));
    expect(screen).toContain('kubelet-ts stopped. 1 pod keeps running unsupervised');
    expect(screen).toContain('code 0');
    expect(await fetchAgent(socket())).toBeUndefined();
  });

  /** The agent is the child of its screen. */
  async function screenPid(): Promise<number> {
    return (await readStat(pid))?.parent ?? 0;
  }
});

test('25 pods come up on a screen that changes its size', async () => {
  for (let count = 0; count < 25; count += 1) {
    await agent.write(`p${count}.yaml`, makePod(`p${count}`, { containers: [shell('app', serve)] }));
  }
  await terminal.until((screen) => /pods \d+\/25 ready/.test(screen));
  for (const [columns, rows] of [
    [60, 15],
    [200, 50],
    [100, 30],
  ] as const) {
    await terminal.resize(columns, rows);
    // The first line is drawn anew, and nothing is wider than the terminal.
    const screen = await terminal.until(
      (text) => text.startsWith('kubelet-ts edge1') || text.includes('\nkubelet-ts edge1'),
    );
    expect(Math.max(...screen.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
  }
  await terminal.until((screen) => screen.includes('pods 25/25 ready'));
  await terminal.press('G');
  await terminal.until((screen) => / p9-edge1 +1\/1 +Running /.test(screen));
});
