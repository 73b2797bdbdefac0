import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { computeStartChanges, startChanges } from '../../src/containerd/outdated-start.ts';
import { identify, type ProcessIdentity } from '../../src/process/process-identity.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const started = { HTTPS_PROXY: 'http://proxy.example', PATH: '/bin', no_proxy: '' };
const nothing = { program: false, certificates: false };

test.each([
  ['nothing', started, nothing, []],
  ['a variable that it does not read', { ...started, PATH: '/sbin' }, nothing, []],
  ['an empty variable', { HTTPS_PROXY: 'http://proxy.example' }, nothing, []],
  ['a proxy', { https_proxy: 'http://proxy.example' }, nothing, ['HTTPS_PROXY', 'https_proxy']],
  ['a program', started, { ...nothing, program: true }, ['the program containerd']],
  ['certificates', started, { ...nothing, certificates: true }, ['the certificates of this machine']],
])('a containerd does not get what changes after its start: %s', (_what, now, changed, changes) => {
  expect(computeStartChanges(started, now, changed)).toEqual(changes);
});

/** A process with these variables, instead of a containerd. */
async function running(env: Record<string, string>): Promise<ProcessIdentity> {
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("up"); setInterval(() => 0, 1000)'], { env });
  onTestFinished(() => {
    child.kill();
  });
  await once(child.stdout, 'data');
  const identity = await identify(child.pid ?? 0);
  if (identity === undefined) throw new Error('it has exited');
  return identity;
}

test('a process is compared with this environment, its program, and the file of certificates', async () => {
  const folder = await temporaryFolder();
  const certificates = join(folder, 'ca.pem');
  await writeFile(certificates, '');
  await utimes(certificates, 0, 0);
  const env = { SSL_CERT_FILE: certificates };
  const containerd = await running(env);
  expect(await startChanges(containerd, process.execPath, env)).toEqual([]);
  const script = join(folder, 'containerd');
  await writeFile(script, '#!/bin/sh\n');
  expect(await startChanges(containerd, script, env)).toEqual([]);
  expect(await startChanges(containerd, certificates, { ...env, no_proxy: '*' })).toEqual([
    'the program containerd',
    'no_proxy',
  ]);
  await writeFile(certificates, 'another authority');
  expect(await startChanges(containerd, process.execPath, env)).toEqual(['the certificates of this machine']);
  expect(await startChanges({ pid: 2 ** 22, startTicks: '1' }, process.execPath, env)).toEqual([]);
});

test('a program that an upgrade replaced is another one', async () => {
  const program = join(await temporaryFolder(), 'containerd');
  await copyFile('/bin/sleep', program);
  const child = spawn(program, ['1000'], { env: {} });
  onTestFinished(() => {
    child.kill();
  });
  await once(child, 'spawn');
  const identity = await identify(child.pid ?? 0);
  if (identity === undefined) throw new Error('it has exited');
  const env = { SSL_CERT_FILE: '/missing' };
  expect(await startChanges(identity, program, { ...env })).toEqual(['SSL_CERT_FILE']);
  await rm(program);
  await copyFile('/bin/sleep', program);
  expect(await startChanges(identity, program, { ...env })).toEqual(['the program containerd', 'SSL_CERT_FILE']);
});
