import { afterEach, beforeEach, expect, test } from 'vitest';
import { programVersion } from '../../src/process/program-version.ts';
import { fetchAgent, waitForAgent } from '../../src/server/control/control-client.ts';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';
import { Agent, isReady } from './agent.ts';
import { deadlineMs } from './deadline.ts';
import { EngineWatch } from './engine-watch.ts';
import { makePod, serve, shell as shellContainer } from './manifests.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

let agent: Agent;
let shell: VirtualTerminal;
let run: string;

beforeEach(async () => {
  agent = await Agent.create();
  run = agent.commandLine(['run', agent.manifestsFolder]).join(' ');
  shell = await VirtualTerminal.open('PS1="> " exec bash --norc -i', {
    columns: 150,
    rows: 30,
    env: agent.environment,
  });
  await shell.until((screen) => screen.startsWith('>'));
});
afterEach(async () => {
  await agent.cleanUp();
  await shell.close();
});

const agentNow = () => fetchAgent(controlSocketPath(agent.rootDir));

test('an agent that is started in the background of a terminal writes log lines, and is not stopped', async () => {
  await shell.type(`${run} &\n`);
  await shell.until((screen) => screen.includes('Container runtime is ready'));
  await shell.type('clear; jobs\n');
  expect(await shell.until((screen) => screen.includes('[1]+'))).toContain('[1]+  Running ');
  const running = await agentNow();
  expect(running).toEqual({ pid: expect.any(Number) as number, version: programVersion });
  // What a shell sends to its jobs when its terminal is closed.
  await shell.type('kill -HUP %1\n');
  await shell.until((screen) => screen.includes('Reloading the configuration and certificates'));
  expect(await agentNow()).toEqual(running);
});

test('an agent whose log goes to a full disk runs pods as any other', async () => {
  await shell.type(`${run} 2>/dev/full &\n`);
  await waitForAgent(controlSocketPath(agent.rootDir), AbortSignal.timeout(deadlineMs));
  const watch = await EngineWatch.open(agent.rootDir);
  await agent.write('web.yaml', makePod('web', { containers: [shellContainer('app', serve)] }));
  await watch.until(({ pods }) => pods.some(isReady));
  watch.close();
});

test('a screen that is suspended and put into the background stops no agent, and is there again in the foreground', async () => {
  await shell.type(`${run}\n`);
  // The screen is there before its agent.
  await shell.until((screen) => screen.includes('kubelet-ts edge1'));
  await waitForAgent(controlSocketPath(agent.rootDir), AbortSignal.timeout(deadlineMs));
  const running = await agentNow();
  await shell.press('C-z');
  await shell.until((screen) => screen.includes('Stopped'));
  await shell.type('clear; bg\n');
  await shell.until((screen) => screen.includes('[1]+'));
  expect(await agentNow()).toEqual(running);
  await shell.type('fg\n');
  await shell.until((screen) => screen.includes('kubelet-ts edge1'));
  await shell.type('q');
  await shell.until((screen) => screen.includes('LEAVE THE SCREEN'));
  await shell.type('d');
  await shell.until((screen) => screen.includes('kubelet-ts keeps running in the background'));
  expect(await agentNow()).toEqual(running);
});

test('an agent that does not start says why', async () => {
  await agent.start();
  await shell.type(`clear; ${run}; echo "code $?"\n`);
  const screen = await shell.until((text) => /^code \d+$/m.test(text));
  const said = /error:[^]*?^code \d+$/m.exec(screen)?.[0].split('\n') ?? [];
  expect([said[0], said[1]?.slice(0, 28), said.at(-1)]).toEqual([
    `error: kubelet-ts already runs on this root-dir (pid ${agent.pid})`,
    'hint: Show it: kubelet-ts ui',
    'code 1',
  ]);
});
