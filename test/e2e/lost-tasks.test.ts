import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerTasks } from '../../src/containerd/container-tasks.ts';
import { endingLostTasks } from '../../src/containerd/ending-lost-tasks.ts';
import { findContainerd } from '../../src/containerd/find-containerd.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { waitForPath } from '../../src/containerd/wait-for-path.ts';
import { type Channel, openChannel } from '../../src/cri/grpc-channel.ts';
import { grpcRuntimeService } from '../../src/cri/grpc-runtime-service.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { Agent } from './agent.ts';
import { inTurn, oldestAndNewest } from './containerd-releases.ts';
import { busybox, hostFolder, makePod, serve, shell } from './manifests.ts';
import { untilLines } from './until-lines.ts';

const forGood = new AbortController().signal;
const endingText = 'Stopping a container whose start was interrupted';

describe.concurrent.each(oldestAndNewest())('containers that containerd $release lost sight of', (containerd) => {
  let agent: Agent;
  let channel: Channel;
  let folder: string;
  const path = `${containerd.folder ?? ''}:${process.env['PATH'] ?? ''}`;

  beforeAll(async () => {
    const environment: Record<string, string> = {};
    agent = await Agent.create({ containerd, environment, images: ['busybox.tar', 'flock.tar'] });
    folder = join(agent.rootDir, 'runtime');
    await mkdir(folder);
    environment['PATH'] = `${folder}:${path}`;
    const { ociRuntime: runc } = await findContainerd({ path });
    const { state } = managedPaths(agent.rootDir);
    // While there is a file `hold`, the next start of a container, and of no sandbox, is not over before there is one
    // `go`. While there is a file `refuse`, none starts.
    const script = `
      for id in "$@"; do :; done
      case " $* " in *" start "*)
        if [ -e ${folder}/refuse ]; then exit 1; fi
        if grep -q '"io.kubernetes.cri.container-type":"container"' ${state}/*/k8s.io/$id/config.json &&
          rm ${folder}/hold 2>/dev/null
        then
          ${runc} "$@"
          touch ${folder}/begun
          while [ ! -e ${folder}/go ]; do sleep 0.05; done
          exit 0
        fi
      esac
      exec ${runc} "$@"`;
    await writeFile(join(folder, 'runc'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await agent.start();
    channel = openChannel(managedPaths(agent.rootDir).endpoint);
  });

  afterAll(async () => {
    channel.close();
    await agent.cleanUp();
  });

  test('no instance of a container starts while one runs whose start our death cut off', inTurn, async () => {
    const journal = join(folder, 'journal');
    const script = `exec 9>>/notes/lock; flock -n 9 || echo twice >>/notes/journal; echo start >>/notes/journal; ${serve}`;
    const container = shell('main', script, {
      image: 'localhost/flock:1',
      volumeMounts: [{ name: 'notes', mountPath: '/notes' }],
    });
    await writeFile(join(folder, 'hold'), '');
    await agent.write('pod.json', makePod('pod', { containers: [container], volumes: [hostFolder('notes', folder)] }));
    await waitForPath(join(folder, 'begun'), forGood);
    await agent.kill9();
    const since = agent.logs.length;
    await agent.start();
    await agent.waitForLog(({ msg }) => msg === endingText, since);
    await writeFile(join(folder, 'go'), '');
    await agent.untilReady('pod');
    expect(await untilLines(journal, 2)).toEqual(['start', 'start']);
    await agent.removeAll();
  });

  // Both are left by a start that is cut off at the right instant.
  test.each([
    { state: 'runs', isStarted: true },
    { state: 'waits for its start', isStarted: false },
  ])(
    'what $state while the CRI takes it for exited can be removed once its status was asked for',
    inTurn,
    async (lost) => {
      const plain = grpcRuntimeService(channel);
      const tasks = containerTasks(channel);
      let areOurs = false;
      const runtime = endingLostTasks(plain, { tasks, isOurs: () => Promise.resolve(areOurs), logger: silentLogger });
      const sandboxConfig = {
        metadata: { name: 'lost', uid: 'lost', namespace: 'default', attempt: 0 },
        linux: { securityContext: { namespaceOptions: { network: 'NODE' as const } }, cgroupParent: agent.cgroupRoot },
      };
      const { podSandboxId } = await runtime.runPodSandbox({ config: sandboxConfig });
      const { containerId } = await plain.createContainer({
        podSandboxId,
        sandboxConfig,
        config: {
          metadata: { name: 'main', attempt: 0 },
          image: { image: busybox },
          command: ['sleep', '3600'],
          linux: {},
        },
      });
      const { ctr } = await findContainerd({ path });
      const { socket } = managedPaths(agent.rootDir);
      if (!lost.isStarted) await writeFile(join(folder, 'refuse'), '');
      const start = ['tasks', 'start', '-d', '--null-io', containerId];
      await execa(ctr ?? '', ['-a', socket, '-n', 'k8s.io', ...start], { reject: lost.isStarted });
      await rm(join(folder, 'refuse'), { force: true });
      await expect(plain.startContainer({ containerId })).rejects.toThrow('already exists');

      const told = { state: 'CONTAINER_EXITED', exitCode: 128, reason: 'StartError', startedAt: 0n };
      expect((await runtime.containerStatus({ containerId })).status).toMatchObject(told);
      await expect(runtime.removeContainer({ containerId })).rejects.toThrow('cannot delete running task');
      expect(await tasks.has(containerId)).toBe(true);

      areOurs = true;
      expect((await runtime.containerStatus({ containerId })).status).toMatchObject(told);
      expect(await tasks.has(containerId)).toBe(false);
      await runtime.removeContainer({ containerId });
      await runtime.stopPodSandbox({ podSandboxId });
      await runtime.removePodSandbox({ podSandboxId });
    },
  );
});
