import { dirname } from 'node:path';
import { shellWord } from '../text/shell-word.ts';
import { configValue } from './status-info.ts';

/** The folder that Debian's package uses. */
const packagedPlugins = '/usr/lib/cni';

/** As in containerd's examples. */
const bridgeNetwork = {
  cniVersion: '0.4.0',
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
    { type: 'firewall' },
  ],
};

/**
 * Returns the commands that prepare a runtime without a network for pods: plugins, a network and its pause image.
 * `info` is from its verbose status.
 */
export function podNetworkCommands(info: Readonly<Record<string, string>>): string[] {
  const confDir = textOf(configValue(info, ['cni', 'confDir'])) ?? '/etc/cni/net.d';
  const binDir = textOf(configValue(info, ['cni', 'binDirs', '0']) ?? configValue(info, ['cni', 'binDir']));
  const pauseImage = textOf(configValue(info, ['sandboxImage']));
  const file = shellWord(`${confDir}/10-pods.conflist`);
  return [
    `apt-get install containernetworking-plugins${linkedInto(binDir ?? '/opt/cni/bin')}`,
    `mkdir -p ${shellWord(confDir)} && echo '${JSON.stringify(bridgeNetwork)}' > ${file}`,
    `kubelet-ts images pull ${shellWord(pauseImage ?? 'registry.k8s.io/pause:3.10')}`,
  ];
}

function linkedInto(binDir: string): string {
  if (binDir === packagedPlugins) return '';
  return ` && mkdir -p ${shellWord(dirname(binDir))} && ln -sfT ${packagedPlugins} ${shellWord(binDir)}`;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
