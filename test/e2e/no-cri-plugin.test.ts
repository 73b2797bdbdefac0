import { mkdir, mkdtemp, rm, watch, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { Agent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { processesOf } from './processes.ts';

const manifests = { 'web.yaml': makePod('web', { containers: [shell('app', serve)] }) };

test.each(containerdReleases())('containerd $release without its CRI plugin is an error', async (containerd) => {
  const agent = await Agent.create({ containerd, manifests });
  const store = join(agent.rootDir, 'containerd/root');
  onTestFinished(async () => {
    await rm(store, { recursive: true });
    await agent.cleanUp();
  });
  await mkdir(store);
  // containerd cannot make its folder there.
  await writeFile(join(store, 'io.containerd.snapshotter.v1.overlayfs'), '');
  await mkdir(join(agent.rootDir, 'pods/uid-1'), { recursive: true });
  const lines = [['run', agent.manifestsFolder, '--no-tui'], ['down', '--all'], ['ps']];
  const shown: unknown[] = [];
  for (const words of lines) {
    const { code, stderr } = await agent.cli(words);
    const errors = stderr.split('\n').filter((line) => line.startsWith('error:'));
    shown.push({ command: words[0], code, errors });
  }
  const message = 'error: The managed containerd did not start: it runs without its CRI plugin';
  expect(shown).toEqual([
    { command: 'run', code: 1, errors: [message] },
    { command: 'down', code: 1, errors: [message] },
    {
      command: 'ps',
      code: 1,
      errors: [`error: no container runtime answers at unix://${agent.rootDir}/containerd/containerd.sock`],
    },
  ]);
  expect(await processesOf(agent.rootDir)).toEqual([]);
});

test('commands answer while containerd does not', async () => {
  const folder = await mkdtemp('/tmp/kts-slow-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const { stdout: installed } = await execa('sh', ['-c', 'command -v containerd']);
  const slow = `#!/bin/sh\ncase $1 in --version) exec ${installed} --version ;; esac\nexec sleep 1000\n`;
  await writeFile(join(folder, 'containerd'), slow, { mode: 0o755 });
  const agent = await Agent.create({ containerd: { release: 'slow', folder }, manifests });
  const changes = watch(agent.rootDir);
  const run = agent.spawn(['run', agent.manifestsFolder, '--no-tui']);
  onTestFinished(async () => {
    run.kill('SIGTERM');
    expect((await run).exitCode).toBe(0);
    await agent.cleanUp();
  });
  for await (const { filename } of changes) if (filename === 'kubelet-ts.sock.holder') break;
  const warning =
    'warning: kubelet-ts is starting: its containerd does not answer yet; the data is from the container runtime\n' +
    'hint: Try again in a moment, or wait for it: kubelet-ts wait POD\n';
  const folderOfIt = join(agent.rootDir, 'containerd');
  const absent =
    `error: no container runtime answers at unix://${folderOfIt}/containerd.sock\n` +
    `hint: kubelet-ts is starting it. Read its log: ${folderOfIt}/containerd.log\n`;
  const noPod = 'error: no pod "web"\nhint: There are no pods.\n';
  const commands = [['ps'], ['logs', 'web'], ['images', 'list'], ['explain', 'web'], ['describe', 'web']];
  expect(await Promise.all(commands.map((words) => agent.cli(words)))).toEqual([
    { code: 1, stdout: '', stderr: `${warning}${absent}` },
    { code: 1, stdout: '', stderr: absent },
    { code: 1, stdout: '', stderr: absent },
    { code: 1, stdout: '', stderr: `${warning}${noPod}` },
    { code: 1, stdout: '', stderr: `${warning}${noPod}` },
  ]);
});
