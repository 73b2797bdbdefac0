import { expect, test } from 'vitest';
import { podNetworkCommands } from '../../src/cri/pod-network-commands.ts';

const commands = (config: object): string[] => podNetworkCommands({ config: JSON.stringify(config) });

test('the containerd of Debian gets the plugins of its package, a network and its pause image', () => {
  const config = {
    cni: { binDir: '/usr/lib/cni', confDir: '/etc/cni/net.d' },
    sandboxImage: 'registry.k8s.io/pause:3.6',
  };
  const [plugins, network, image] = commands(config);
  expect({ plugins, image }).toEqual({
    plugins: 'apt-get install containernetworking-plugins',
    image: 'kubelet-ts images pull registry.k8s.io/pause:3.6',
  });
  const [, json = '', file] = /^mkdir -p \/etc\/cni\/net\.d && echo '(.*)' > (.*)$/.exec(network ?? '') ?? [];
  expect(file).toBe('/etc/cni/net.d/10-pods.conflist');
  const { plugins: types } = JSON.parse(json) as { plugins: { type: string }[] };
  expect(types.map(({ type }) => type)).toEqual(['bridge', 'portmap', 'firewall']);
});

test.each([
  ['containerd 1', { cni: { binDir: '/opt/cni/bin', confDir: '/etc/cni/net.d' } }],
  ['containerd 2', { cni: { binDirs: ['/opt/cni/bin'], confDir: '/etc/cni/net.d' } }],
  ['a runtime that reports nothing', {}],
])('the plugins are linked to where %s looks', (_what, config) => {
  expect(commands(config)[0]).toBe(
    'apt-get install containernetworking-plugins && mkdir -p /opt/cni && ln -sfT /usr/lib/cni /opt/cni/bin',
  );
});

test('a status in another form gives the usual folders', () => {
  expect(podNetworkCommands({ config: 'no JSON' })[1]).toContain(' > /etc/cni/net.d/10-pods.conflist');
});
