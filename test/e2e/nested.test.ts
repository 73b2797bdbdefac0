import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Container, Volume } from '../../src/api/types.ts';
import { Agent } from './agent.ts';
import { makePod, shell } from './manifests.ts';
import { NetworkNamespace } from './network-namespace.ts';
import { imagesFolder, program } from './program.ts';

type Mount = NonNullable<Container['volumeMounts']>[number];

let network: NetworkNamespace;
let agent: Agent;

// The inner node makes a bridge.
beforeAll(async () => {
  network = await NetworkNamespace.create();
  agent = await Agent.create({ networkNamespace: network.path });
});
afterAll(async () => {
  await agent.cleanUp();
  await network.remove();
});

const memoryLimit = 'cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max';

const innerJob = makePod('inner', {
  hostNetwork: false,
  restartPolicy: 'Never',
  containers: [
    shell('main', `${memoryLimit}; ip -o address show eth0 | grep -c 'inet '`, {
      resources: { limits: { memory: '64Mi' } },
    }),
  ],
});

// Everybody may write to an emptyDir, but not to a root-dir.
const commands = `
export PATH=/node:/usr/sbin:/usr/bin
chmod go-w /root-dir
mkdir /root-dir/images
cp /images/busybox.tar /root-dir/images
node="--root-dir /root-dir --pod-logs-dir /root-dir/logs"
echo "$MANIFEST" | /program/bin/kubelet-ts run-once --rm --hostname-override ci --healthz-port 0 $node -
echo "exit code $?"
/program/bin/kubelet-ts down --all $node`;

test('a privileged container of CI runs pods with limits and a network, on its own containerd', async () => {
  // The programs of this machine, where an image of CI has its own.
  const folders = { usr: '/usr', lib: '/lib', lib64: '/lib64', alternatives: '/etc/alternatives' };
  const paths = { program: dirname(dirname(program)), node: dirname(process.execPath), images: imagesFolder };
  const mounts = Object.entries({ ...folders, ...paths }).map(async ([name, path]): Promise<[Volume, Mount]> => {
    const archive = name === 'images' ? dirname(await realpath(join(path, 'busybox.tar'))) : await realpath(path);
    const mountPath = name in folders ? path : `/${name}`;
    return [
      { name, hostPath: { path: archive } },
      { name, mountPath, readOnly: true },
    ];
  });
  const mounted = await Promise.all(mounts);
  const ci = makePod('ci', {
    restartPolicy: 'Never',
    volumes: [...mounted.map(([volume]) => volume), { name: 'root-dir', emptyDir: {} }],
    containers: [
      shell('main', commands, {
        env: [{ name: 'MANIFEST', value: JSON.stringify(innerJob) }],
        securityContext: { privileged: true },
        volumeMounts: [...mounted.map(([, mount]) => mount), { name: 'root-dir', mountPath: '/root-dir' }],
      }),
    ],
  });
  const { code, stdout, stderr } = await agent.cli(['run-once', '--rm', '-'], { input: JSON.stringify(ci) });
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: `${64 * 1024 ** 2}\n1\nexit code 0\nmanaged containerd stopped\n`,
    stderr: 'default/inner-ci: completed\ndefault/ci-edge1: completed\n',
  });
});
