import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { startFakeAgent } from '../../commands/fake-agent.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import {
  kubeletKind,
  listenersOn,
  readAgents,
  readPort,
  wordsOf,
} from '../../../src/node/doctor/read-process-facts.ts';

test.each([
  [['/usr/bin/kubelet', '--config', 'x'], 'kubelet'],
  [['/usr/bin/node', '/opt/bin/kubelet-ts', 'run', 'pods/'], 'kubelet-ts'],
  [['node', '/opt/bin/kubelet', '--config'], 'kubelet-ts'],
  [['/usr/bin/node', '/opt/bin/kubelet-ts', 'ps'], undefined],
  [['vim', 'kubelet'], undefined],
  [['/usr/bin/kubelet-ts', 'run', 'pods/'], 'kubelet-ts'],
  [['kubelet-ts', 'ps'], undefined],
  [['node', '/opt/bin/kubelet', 'ps'], undefined],
  [[''], undefined],
])('the command line %j is of %s', (words, kind) => {
  expect(kubeletKind(words)).toBe(kind);
});

test.each([
  [['/usr/bin/kubelet', '--config', 'x'], '/opt/kubelet-ts', 'kubelet-ts'],
  [['kubelet', 'run', 'pods/'], '/opt/kubelet-ts', 'kubelet-ts'],
  [['kubelet'], '/opt/kubelet-ts (deleted)', 'kubelet-ts'],
  [['kubelet', 'ps'], '/opt/kubelet-ts', undefined],
  [['kubelet', '--config', 'x'], '/usr/bin/kubelet', 'kubelet'],
])('the command line %j of the executable %s is of %s', (words, executable, kind) => {
  expect(kubeletKind(words, executable)).toBe(kind);
});

test('the path of the program is the second word of a command line', () => {
  expect(wordsOf('node\0--\0/opt/bin/kubelet-ts\0exec\0web\0--\0ls')).toEqual([
    'node',
    '/opt/bin/kubelet-ts',
    'exec',
    'web',
    '--',
    'ls',
  ]);
});

test('only sockets that listen on the port count', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1',
    '   1: 0100007F:2808 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 222 1',
    '   2: 00000000:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1',
  ].join('\n');
  expect(listenersOn(10248, table)).toEqual(['111']);
});

test('the program that holds a port is named, and a free port has none', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const taken = await readPort({ port, flag: '--port' });
  server.close();
  await once(server, 'close');
  expect([taken.holder?.pid, await readPort({ port, flag: '--port' })]).toEqual([
    process.pid,
    { port, flag: '--port' },
  ]);
});

/** Runs a script with this command line, until the test ends. Resolves with the process and its first line. */
async function runAs(argv0: string, word: string, script: string): Promise<{ process: ChildProcess; line: string }> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, word), script);
  const child = spawn(process.execPath, [word], { argv0, cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    const closed = once(child, 'close');
    child.stdin.end();
    await closed;
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { process: child, line };
}

/** A `run` with a screen, whose agent prints its PID. Both end with stdin. */
const withScreen = `
  const { spawn } = require('node:child_process');
  process.stdin.resume();
  if (process.env.IS_AGENT) console.log(process.pid);
  else spawn(process.execPath, ['run'], { argv0: 'kubelet-ts', stdio: 'inherit', env: { IS_AGENT: '1' } });
`;

test('the process of a screen is no further agent', async () => {
  const { process: screen, line } = await runAs('kubelet-ts', 'run', withScreen);
  const agent = { pid: Number(line), command: 'kubelet-ts', isKubelet: false };
  const [rootDir, ownRootDir] = [await temporaryFolder(), await temporaryFolder()];
  await startFakeAgent(ownRootDir, { '/v1/agent': { pid: agent.pid } });
  const seenOn = async (folder: string): Promise<unknown> => {
    const { own, others } = await readAgents(folder);
    return { own, others: others.filter(({ pid }) => pid === screen.pid || pid === agent.pid) };
  };
  expect(await seenOn(rootDir)).toEqual({ own: undefined, others: [agent] });
  expect(await seenOn(ownRootDir)).toEqual({ own: { pid: agent.pid }, others: [] });
});

test('an agent with the name of the kubelet has the socket of an agent', async () => {
  const listen = "require('node:net').createServer().listen(`${process.cwd()}/sock.${process.pid}`, ready);";
  const ready = "function ready() { console.log('ready'); }";
  const end = "process.stdin.resume().on('end', () => process.exit());";
  const { process: copy } = await runAs('kubelet', 'run', listen + ready + end);
  const { process: kubelet } = await runAs('kubelet', 'run', `ready();${ready}${end}`);
  const { others } = await readAgents(await temporaryFolder());
  expect([copy, kubelet].map((program) => others.find(({ pid }) => pid === program.pid))).toEqual([
    { pid: copy.pid, command: 'kubelet-ts', isKubelet: false },
    { pid: kubelet.pid, command: 'kubelet', isKubelet: true },
  ]);
});
