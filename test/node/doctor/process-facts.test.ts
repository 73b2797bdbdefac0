import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { listenersOn, readAgents, readPort } from '../../../src/node/doctor/read-process-facts.ts';

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

/** Runs a script with this command line, until the test ends. Resolves when it has printed a line. */
async function runAs(argv0: string, word: string, script: string): Promise<{ process: ChildProcess; folder: string }> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, word), script);
  const child = spawn(process.execPath, [word], { argv0, cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    const closed = once(child, 'close');
    child.stdin.end();
    await closed;
  });
  await once(child.stdout, 'data');
  return { process: child, folder };
}

const end = "process.stdin.resume().on('end', () => process.exit());";
const say = "console.log('ready');";
/** As the kernel lists the control socket of an agent. */
const listen = `require('node:net').createServer().listen(\`\${process.cwd()}/sock.\${process.pid}\`, () => ${say.slice(0, -1)});${end}`;

test('other agents are known by their control sockets, whatever their programs are called, and kubelets by name', async () => {
  const [agent, copy, kubelet, command] = await Promise.all([
    runAs('node', 'agent.js', listen),
    runAs('kubelet', 'run', listen),
    runAs('kubelet', 'run', say + end),
    runAs('kubelet-ts', 'run', say + end),
  ]);
  const programs = [agent, copy, kubelet, command];
  const { others } = await readAgents(await temporaryFolder());
  expect(programs.map(({ process: { pid } }) => others.find((other) => other.pid === pid))).toEqual([
    { pid: agent.process.pid, rootDir: agent.folder },
    { pid: copy.process.pid, rootDir: copy.folder },
    { pid: kubelet.process.pid },
    undefined,
  ]);
});

test('does not count the agent of this root-dir as another agent', async () => {
  const { process: agent, folder } = await runAs('node', 'agent.js', listen);
  const { others } = await readAgents(folder);
  expect(others.filter(({ pid }) => pid === agent.pid)).toEqual([]);
});
