import { mkdtemp, readdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

const mebibyte = 1024 * 1024;
const floodBytes = 2048 * mebibyte;

let disk: string;
let agent: Agent;

/**
 * A disk of 1200 MiB for everything of the agent and of its containerd. Less than 120 MiB free is pressure. The agent
 * looks at a log within 3 s, and a fast machine has written up to 600 MiB by then.
 */
beforeAll(async () => {
  disk = await mkdtemp('/tmp/kd-');
  await execa('mount', ['-t', 'tmpfs', '-o', 'size=1200m', 'tmpfs', disk]);
  const flags = ['--eviction-hard=nodefs.available<10%'];
  agent = await Agent.create({ folder: disk, flags });
  const config = join(agent.rootDir, 'kubelet.json');
  const kind = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  await writeFile(config, JSON.stringify({ ...kind, containerLogMaxFiles: 3, containerLogMonitorInterval: '3s' }));
  flags.push('--config', config);
  await agent.start();
});

afterAll(async () => {
  await agent.cleanUp();
  await execa('umount', [disk]);
  await rmdir(disk);
});

test('a log of 2 GB, written as fast as the runtime takes it, fits on a disk of 1200 MB', async () => {
  await agent.write('calm.yaml', makePod('calm', { containers: [shell('app', serve)] }));
  await agent.untilReady('calm');
  const { id } = await agent.runningContainer('calm');
  const script = `yes ${'x'.repeat(1000)} | head -c ${floodBytes}; echo; echo last`;
  await agent.write('flood.yaml', makePod('flood', { restartPolicy: 'Never', containers: [shell('app', script)] }));
  const { code, stdout: waited } = await agent.cli(['wait', 'flood', '--for=completed', '--timeout=4m']);
  expect([code, waited]).toEqual([0, 'pod/flood condition met\n']);
  const reasons = agent.logs.flatMap(({ reason }) => (typeof reason === 'string' ? [reason] : []));
  expect(
    reasons.filter((reason) => !/^(CgroupV1|NodeAllocatableEnforced|Pulled|Created|Started)$/.test(reason)),
  ).toEqual([]);
  expect((await agent.runningContainer('calm')).id).toBe(id);

  const { stdout: tail } = await agent.cli(['logs', 'flood', '--tail', '2']);
  expect(tail).toMatch(/^x+\nlast\n$/);
  const [folder = ''] = (await readdir(agent.podLogsDir)).filter((name) => name.includes('flood'));
  expect((await readdir(join(agent.podLogsDir, folder, 'app'))).length).toBeLessThanOrEqual(3);
});
