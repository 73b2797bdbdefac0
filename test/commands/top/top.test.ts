import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../../src/commands/top.ts';
import { UserError } from '../../../src/errors.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { type Asked, startFakeAgent } from '../fake-agent.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

const time = '2025-01-01T00:00:00.000Z';
const podOf = (namespace: string) => ({
  podRef: { name: 'web-edge1', namespace, uid: namespace },
  startTime: time,
  cpu: { time, usageNanoCores: 1_000_000 },
  memory: { time, workingSetBytes: 1024 * 1024 },
  containers: [],
});
const summary = { node: { nodeName: 'edge1', startTime: time }, pods: ['default', 'shop'].map(podOf) };

/** Runs `top` beside an agent. */
async function top(...words: string[]): Promise<{ stdout: string; asked: Asked[] }> {
  const rootDir = await temporaryFolder();
  const asked = await startFakeAgent(rootDir, { '/v1/stats': summary });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  await program.parseAsync(['top', '--root-dir', rootDir, ...words], { from: 'user' });
  return { stdout: deps.printed.stdout, asked };
}

test('samples of the agent are at most 15 seconds old', async () => {
  expect((await top('-o', 'wide')).asked).toEqual([['GET /v1/stats?maxAge=15000']]);
  expect((await top()).asked).toEqual([['GET /v1/stats?maxAge=15000&cpuAndMemoryOnly']]);
});

test('a namespace selects its pods', async () => {
  const { stdout } = await top('-n', 'shop', '--no-headers');
  expect(stdout).toBe('shop   web-edge1   1m   1Mi\n');
});

test('the output for programs has the form of the summary', async () => {
  expect(JSON.parse((await top('-o', 'json')).stdout)).toEqual(summary);
  expect(JSON.parse((await top('node', '-o', 'json')).stdout)).toEqual(summary.node);
});

test('a wrong selector is reported before a missing runtime', async () => {
  const connect = () => Promise.reject(new UserError('no container runtime was found'));
  const program = new Command();
  register(program, makeDeps(makeRuntime([], []), { connect }));
  const words = ['top', '--root-dir', await temporaryFolder(), '-l', 'a=b=c'];
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow('"a=b=c" is not a label selector');
});
