import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../../src/commands/wait.ts';
import type { WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { noAgentOn } from '../no-agent-on.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

/** Runs `wait web` beside an agent whose only pod runs. Resolves with what it prints. The agent ends its events. */
async function wait(...words: string[]): Promise<string> {
  const rootDir = await temporaryFolder();
  await startFakeAgent(rootDir, { '/v1/agent': { pid: 1 }, '/v1/snapshot': makeSnapshot([makeEntry('web-edge1')]) });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  await program.parseAsync(['wait', '--root-dir', rootDir, 'web', ...words], { from: 'user' });
  return deps.printed.stdout;
}

const isRunning = ['--for', 'jsonpath={.status.phase}=Running'];
const hasFailed = ['--for', 'jsonpath={.status.phase}=Failed'];

test.each(['0', '0.5us'])('a time-out of %s checks once', async (timeout) => {
  expect(await wait('--timeout', timeout, ...isRunning)).toBe('pod/web condition met\n');
  await expect(wait('--timeout', timeout, ...hasFailed)).rejects.toMatchObject({
    name: 'UserError',
    message: 'timed out before these pods had jsonpath={.status.phase}=Failed: web (Running)',
  });
});

test.each(['1000.0000005s', '720h', '20000h'])('a time-out of %s is not over at once', async (timeout) => {
  await expect(wait('--timeout', timeout, ...hasFailed)).rejects.toMatchObject({
    name: 'UserError',
    message: 'kubelet-ts exited before these pods had jsonpath={.status.phase}=Failed: web (Running)',
  });
});

test('without an agent a time-out of 0 is over at once', async () => {
  const program = new Command();
  register(program, makeDeps(makeRuntime([], [])));
  const rootDir = await temporaryFolder();
  const words = ['wait', 'web', '--timeout', '0', '--root-dir', rootDir];
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toMatchObject(noAgentOn(rootDir));
});

test('wait waits for an agent whose root-dir does not exist yet', async () => {
  const rootDir = join(await temporaryFolder(), 'later', 'root');
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  const waiting = program.parseAsync(['wait', '--root-dir', rootDir, 'web', '--timeout', '60s', ...isRunning], {
    from: 'user',
  });
  await startFakeAgent(rootDir, { '/v1/agent': { pid: 1 }, '/v1/snapshot': makeSnapshot([makeEntry('web-edge1')]) });
  await waiting;
  expect(deps.printed).toEqual({ stdout: 'pod/web condition met\n', stderr: '', exitCode: undefined });
});

test('a pod that is not declared may be that of a manifest with errors, which is named', async () => {
  const rootDir = await temporaryFolder();
  const problems = [{ origin: '/m/web.yaml', severity: 'error', message: 'Unexpected text' }];
  const snapshot = { ...makeSnapshot([]), sources: [{ source: 'file', where: '/m', ready: true, pods: 0, problems }] };
  await startFakeAgent(rootDir, { '/v1/agent': { pid: 1 }, '/v1/snapshot': snapshot });
  const program = new Command();
  register(program, makeDeps(makeRuntime([], [])));
  const words = ['wait', '--root-dir', rootDir, 'web', '--timeout', '0'];
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toMatchObject({
    message: 'timed out before these pods were ready: web (not declared)',
    hint: 'Manifests with errors declare no pods: /m/web.yaml. kubelet-ts ps shows the errors.',
  });
});

test('the help names every form of a condition', () => {
  const program = new Command();
  register(program, makeDeps(makeRuntime([], [])));
  let text = '';
  program.commands[0]?.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
  expect(text.replaceAll(/\s+/g, ' ')).toContain(
    '--for <condition> condition to wait for, also condition=TYPE[=VALUE] or jsonpath={PATH}[=VALUE] ' +
      '(choices: "ready", "completed", "updated", "deleted", "condition=", "jsonpath=", default: "ready")',
  );
});

test.each(['completed', 'ready', 'condition=Complete', 'condition=Failed'])(
  'a CronJob is never %s, and the error names what can be awaited',
  async (condition) => {
    const rootDir = await temporaryFolder();
    const counts = { desired: 0, current: 0, ready: 0, available: 0, updated: 0 };
    const workload: WorkloadSnapshot = {
      ...{ kind: 'CronJob', namespace: 'default', name: 'dump', ...counts, conditions: [], pods: [] },
      cronJob: { schedule: '@daily', isSuspended: false, jobs: [] },
    };
    const snapshot = makeSnapshot([], { workloads: [workload] });
    await startFakeAgent(rootDir, { '/v1/agent': { pid: 1 }, '/v1/snapshot': snapshot });
    const program = new Command();
    register(program, makeDeps(makeRuntime([], [])));
    const args = ['wait', '--root-dir', rootDir, 'cronjob/dump', '--timeout', '1h', '--for', condition];
    await expect(program.parseAsync(args, { from: 'user' })).rejects.toMatchObject({
      message: 'cronjob.batch/dump has no such condition, only its Jobs do',
      hint: 'Run it, and wait for the result: kubelet-ts run-once cronjob/dump',
    });
  },
);
