import type { Machine } from './machine.ts';

/** What `doctor` suggests: the packages of Debian, the cgroup driver systemd, and a network of pods. */
export async function setUpRuntime(machine: Machine): Promise<void> {
  await machine.run('mkdir -p /etc/containerd /etc/cni/net.d');
  const changes = '-e "s/SystemdCgroup = false/SystemdCgroup = true/" -e "s@/opt/cni/bin@/usr/lib/cni@"';
  await machine.run(`containerd config default | sed ${changes} > /etc/containerd/config.toml`);
  await machine.write('/etc/cni/net.d/10-pods.conflist', JSON.stringify(podNetwork));
  await machine.run('systemctl enable --now containerd');
  for (const image of ['pause', 'busybox']) await machine.run(`ctr -n k8s.io images import /payload/${image}.tar`);
}

const podNetwork = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.88.0.0/16' }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};
