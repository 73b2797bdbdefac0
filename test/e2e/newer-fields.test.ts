import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCgroupMounts } from '../../src/engine/container-manager/cgroup-mounts.ts';
import { Agent } from './agent.ts';
import { inTurn, containerdReleases } from './containerd-releases.ts';
import { busybox, makePod, serve, shell } from './manifests.ts';

describe.concurrent.each(containerdReleases())(
  'fields of Kubernetes 1.33 to 1.36 on containerd $release',
  (containerd) => {
    let agent: Agent;

    beforeAll(async () => {
      agent = await Agent.create({ containerd, images: ['busybox.tar'] });
      await agent.start();
    });
    afterAll(() => agent.cleanUp());

    test('a container restarts by its rule, reads a file, and shares the resources of its pod', inTurn, async () => {
      const volumeMounts = [{ name: 'data', mountPath: '/data' }];
      const pod = makePod('ruled', {
        restartPolicy: 'Never',
        resources: { requests: { memory: '16Mi' }, limits: { memory: '64Mi' } },
        volumes: [{ name: 'data', emptyDir: {} }],
        initContainers: [shell('write', `echo "COLOUR='blue'" > /data/env`, { volumeMounts })],
        containers: [
          shell('app', `echo $COLOUR; [ -e /data/ran ] || { touch /data/ran; exit 42; }; ${serve}`, {
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
            restartPolicy: 'Never',
            env: [{ name: 'COLOUR', valueFrom: { fileKeyRef: { volumeName: 'data', path: 'env', key: 'COLOUR' } } }],
            volumeMounts,
          }),
        ],
      });
      await agent.write('ruled.json', pod);
      const { status } = (
        await agent.untilPod('ruled', (entry) => {
          const [app] = entry.pod.status?.containerStatuses ?? [];
          return app?.state?.running !== undefined && app.restartCount === 1;
        })
      ).pod;
      expect(status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(42);
      expect((await agent.cli(['logs', 'ruled'])).stdout).toBe('blue\n');
      expect(await memoryLimits(agent)).toEqual({ container: 64, pod: 64 });
    });

    test('an image is a volume, or explain says that the runtime cannot mount it', inTurn, async () => {
      const volumes = [{ name: 'tools', image: { reference: busybox } }];
      const app = shell('app', serve, { volumeMounts: [{ name: 'tools', mountPath: '/tools' }] });
      await agent.write('tools.json', makePod('tools', { volumes, containers: [app] }));
      if (containerd.release === '2') {
        await agent.untilReady('tools');
        expect((await agent.cli(['exec', 'tools', '--', 'ls', '/tools/bin/sh'])).stdout.trim()).toBe('/tools/bin/sh');
      } else {
        await agent.untilPod(
          'tools',
          ({ pod }) => pod.status?.containerStatuses?.[0]?.state?.waiting?.message !== undefined,
        );
        expect((await agent.cli(['explain', 'tools'])).stdout).toContain('image volume');
      }
    });

    test(
      'a container gets the part of an image that it asks for, or explain says why it does not',
      inTurn,
      async () => {
        const volumes = [{ name: 'tools', image: { reference: busybox } }];
        const app = shell('app', serve, { volumeMounts: [{ name: 'tools', mountPath: '/bin-only', subPath: 'bin' }] });
        await agent.write('part.json', makePod('part', { volumes, containers: [app] }));
        const { pod } = await agent.untilPod('part', (entry) => {
          const { waiting, running } = entry.pod.status?.containerStatuses?.[0]?.state ?? {};
          return running !== undefined || waiting?.message !== undefined;
        });
        if (pod.status?.containerStatuses?.[0]?.state?.running === undefined) {
          const { stdout } = await agent.cli(['explain', 'part']);
          expect(stdout).toContain('the container runtime cannot mount a subPath of the image volume "tools"');
          expect(stdout).toContain('Update the runtime: containerd 2.2 and CRI-O 1.33 mount parts of images.');
        } else {
          const { stdout } = await agent.cli(['exec', 'part', '--', 'ls', '/bin-only/sh']);
          expect(stdout.trim()).toBe('/bin-only/sh');
        }
      },
    );

    test('a pod gets only its own groups, or explain says that the runtime adds others', inTurn, async () => {
      const securityContext = { runAsUser: 1000, supplementalGroups: [4000], supplementalGroupsPolicy: 'Strict' };
      await agent.write('groups.json', makePod('groups', { securityContext, containers: [shell('app', serve)] }));
      if (containerd.release === '2') {
        await agent.untilReady('groups');
        expect((await agent.cli(['exec', 'groups', '--', 'id', '-G'])).stdout.trim()).toBe('0 4000');
      } else {
        await agent.untilPod('groups', ({ pod }) => pod.status?.reason === 'SupplementalGroupsPolicyNotSupported');
        expect((await agent.cli(['explain', 'groups'])).stdout).toContain('Set it to Merge, or update the container');
      }
    });
  },
);

/** Memory limits in MiB: of the container, and of its pod. */
async function memoryLimits(agent: Agent): Promise<{ container: number; pod: number }> {
  const { version, controllers } = await readCgroupMounts();
  const file = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
  const { pid } = await agent.runningContainer('ruled', 'app');
  const lines = (await readFile(`/proc/${pid}/cgroup`, 'utf8')).split('\n');
  const line = lines.find((one) => (version === 1 ? one.includes(':memory:') : one.startsWith('0::'))) ?? '';
  const folder = join(controllers.get('memory') ?? '', line.slice(line.indexOf('/')));
  const read = async (path: string): Promise<number> => Number(await readFile(path, 'utf8')) / 1024 ** 2;
  return { container: await read(join(folder, file)), pod: await read(join(folder, '..', file)) };
}
