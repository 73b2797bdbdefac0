import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Container } from '../../src/api/types.ts';
import { type Agent, startAgent } from './agent.ts';
import { oldestAndNewest } from './containerd-releases.ts';
import { mountsBelow } from './leftovers.ts';
import { hostFolder, makePod, serve, shell } from './manifests.ts';

describe.each(oldestAndNewest())('mounts on containerd $release', (containerd) => {
  let agent: Agent;
  /** A shared mount of this machine, with another one in it. */
  let folder: string;

  beforeAll(async () => {
    agent = await startAgent({ containerd });
    folder = join(agent.rootDir, 'data');
    await mkdir(folder);
    await execa('mount', ['-t', 'tmpfs', 'tmpfs', folder]);
    await execa('mount', ['--make-shared', folder]);
    await mountAt('inner');
  });
  afterEach(() => agent.removeAll());
  afterAll(async () => {
    for (const mount of [...(await mountsBelow(folder)), folder]) await execa('umount', [mount]);
    await agent.cleanUp();
  });

  async function mountAt(name: string): Promise<void> {
    await mkdir(join(folder, name));
    await execa('mount', ['-t', 'tmpfs', 'tmpfs', join(folder, name)]);
    await writeFile(join(folder, name, 'file'), '');
  }

  /** A pod with one container that mounts the folder at /data. */
  const run = (mount: object, more: Partial<Container> = {}): Promise<void> => {
    const app = shell('app', serve, { volumeMounts: [{ name: 'data', mountPath: '/data', ...mount }], ...more });
    return agent.write('web.yaml', makePod('web', { volumes: [hostFolder('data', folder)], containers: [app] }));
  };

  async function look(script: string): Promise<string> {
    const { stdout } = await agent.cli(['exec', 'web', '--', 'sh', '-c', script]);
    return stdout;
  }

  const write = 'for file in /data/new /data/inner/new; do touch $file 2>/dev/null && rm $file && echo $file; done';

  test('what is mounted below a read-only volume is so only where that is asked for and the runtime can', async () => {
    const connection = await agent.connect();
    const { runtimeHandlers } = await connection.runtime.status({});
    connection.close();
    const isPossible = runtimeHandlers.some(({ name, features }) => name === '' && features?.recursiveReadOnlyMounts);
    await run({ readOnly: true });
    await agent.untilReady('web');
    expect(await look(write)).toBe('/data/inner/new\n');
    await agent.removeAll();
    await run({ readOnly: true, recursiveReadOnly: 'IfPossible' });
    await agent.untilReady('web');
    expect(await look(write)).toBe(isPossible ? '' : '/data/inner/new\n');
    await agent.removeAll();
    await run({ readOnly: true, recursiveReadOnly: 'Enabled' });
    const { pod } = await agent.untilPod('web', ({ pod: { status } }) => {
      const state = status?.containerStatuses?.[0]?.state;
      return state?.running !== undefined || state?.waiting?.reason === 'CreateContainerConfigError';
    });
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toBe(
      isPossible
        ? undefined
        : 'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
    );
  });

  test('mounts of the machine reach a container that asks for them, and those of a privileged one the machine', async () => {
    await run({ mountPropagation: 'HostToContainer' });
    await agent.untilReady('web');
    await mountAt('later');
    expect(await look('ls /data/later')).toBe('file\n');
    await agent.removeAll();
    await run({ mountPropagation: 'Bidirectional' }, { securityContext: { privileged: true } });
    await agent.untilReady('web');
    await look('mkdir /data/own && mount -t tmpfs tmpfs /data/own');
    expect(await mountsBelow(folder)).toContain(join(folder, 'own'));
    await agent.removeAll();
    await run({});
    await agent.untilReady('web');
    await mountAt('unseen');
    expect(await look('ls /data/unseen')).toBe('');
  });
});
