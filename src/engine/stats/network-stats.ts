import type { InterfaceStats, NetworkStats } from './summary.ts';

/** Prefixes of interfaces that belong to containers or lead nowhere. kubelet: cadvisor isIgnoredDevice */
const ignored = ['lo', 'veth', 'docker', 'nerdctl'];
/** kubelet: kubelet/network DefaultInterfaceName */
const defaultInterface = 'eth0';

/** The interfaces in a file `/proc/<pid>/net/dev`. kubelet: stats/helper.go cadvisorInfoToNetworkStats */
export function networkStats(text: string, time: string): NetworkStats {
  const interfaces = text.split('\n').flatMap(interfaceOf);
  const chosen = interfaces.find(({ name }) => name === defaultInterface);
  return { time, name: '', ...chosen, interfaces };
}

function interfaceOf(line: string): InterfaceStats[] {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon).trim();
  if (colon === -1 || ignored.some((prefix) => name.startsWith(prefix))) return [];
  const counters = line
    .slice(colon + 1)
    .trim()
    .split(/\s+/)
    .map(Number);
  if (counters.length < 16) return [];
  const [rxBytes = 0, , rxErrors = 0, , , , , , txBytes = 0, , txErrors = 0] = counters;
  return [{ name, rxBytes, rxErrors, txBytes, txErrors }];
}
