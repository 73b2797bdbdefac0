import { missingControllers } from '../../node-fitness.ts';
import { kernelTunables } from '../../kernel-tunables.ts';
import type { CgroupFacts, Facts, KernelFacts, RightsFacts } from './facts.ts';
import { ok, onFact, problem, type Verdict, warning } from './finding.ts';

/** Capabilities that the agent needs, with their bits: capabilities(7). */
const needed = { CAP_SYS_ADMIN: 21, CAP_NET_ADMIN: 12, CAP_KILL: 5, CAP_CHOWN: 0, CAP_DAC_OVERRIDE: 1 } as const;
const useful = { CAP_SYS_RESOURCE: 24, CAP_SYS_PTRACE: 19, CAP_MKNOD: 27 } as const;

export function checkConfiguration({ configuration: { error, warnings } }: Facts): Verdict[] {
  const found = warnings.map((text) => warning(text, 'Correct it: docs/reference/configuration.md lists every field.'));
  if (error !== undefined) {
    const { message, hint = 'Correct the file, then check again: kubelet-ts doctor --config FILE' } = error;
    // After its first line, the error of a wrong configuration lists all mistakes.
    const [title = '', ...errors] = message.split('\n');
    return (errors.length === 0 ? [title] : errors).map((text) => problem(text, hint));
  }
  return found.length > 0 ? found : [ok('can be read')];
}

export function checkRights({ rights }: Facts): Verdict[] {
  return onFact(rights, judgeRights);
}

function judgeRights({ uid, capabilities }: RightsFacts): Verdict[] {
  if (uid !== 0) return [warning(`user ${uid} is not root, so some checks are skipped`, 'sudo kubelet-ts doctor')];
  const lacks = (table: Readonly<Record<string, number>>): string[] =>
    Object.keys(table).filter((name) => ((capabilities >> BigInt(table[name] ?? 0)) & 1n) === 0n);
  const [missing, wished] = [lacks(needed), lacks(useful)];
  if (missing.length > 0) {
    return [problem(`root lacks ${missing.join(', ')}`, 'Start the container or the service with all capabilities.')];
  }
  if (wished.length === 0) return [ok('root with all needed capabilities')];
  const effect = 'some pods cannot get what they request';
  return [warning(`root lacks ${wished.join(', ')}: ${effect}`, `Add ${wished.join(' and ')} to the container.`)];
}

/** The oldest release that the kubelet's authors test with. */
const minRelease = [4, 19] as const;
const neededNamespaces = ['ipc', 'mnt', 'net', 'pid', 'uts'];
/** Each pod that is watched separately uses one. */
const minInotifyInstances = 128;

export function checkKernel({ kernel, settings }: Facts): Verdict[] {
  return onFact(kernel, (facts) => [
    judgeRelease(facts),
    judgeOverlay(facts),
    ...judgeNamespaces(facts),
    ...judgeSysctls(facts, settings.protectKernelDefaults),
  ]);
}

function judgeRelease({ release }: KernelFacts): Verdict {
  const [major = 0, minor = 0] = release.split('.').map((part) => Number.parseInt(part, 10));
  const isOld = major < minRelease[0] || (major === minRelease[0] && minor < minRelease[1]);
  return isOld
    ? warning(`Linux ${release} is older than ${minRelease.join('.')}`, 'Install a newer kernel of this distribution.')
    : ok(`Linux ${release}`);
}

function judgeOverlay({ fileSystems, loadableModules }: KernelFacts): Verdict {
  if (fileSystems.includes('overlay')) return ok('has overlay file systems');
  if (loadableModules.includes('overlay')) return ok('can load overlay file systems');
  return problem('the kernel has no overlay file system, which images need', 'modprobe overlay');
}

function judgeNamespaces({ namespaces }: KernelFacts): Verdict[] {
  const missing = neededNamespaces.filter((name) => !namespaces.includes(name));
  if (missing.length === 0) return [];
  return [problem(`the kernel has no namespaces of ${missing.join(', ')}`, 'Run a kernel with CONFIG_NAMESPACES.')];
}

function judgeSysctls({ sysctls }: KernelFacts, isProtected: boolean): Verdict[] {
  const instances = Number(sysctls['fs.inotify.max_user_instances'] ?? minInotifyInstances);
  const verdicts: Verdict[] = [];
  if (instances < minInotifyInstances) {
    const evidence = `fs.inotify.max_user_instances is ${instances}, so file changes may go unnoticed`;
    verdicts.push(warning(evidence, `sysctl -w fs.inotify.max_user_instances=${minInotifyInstances * 4}`));
  }
  const wrong = Object.entries(kernelTunables).filter(([name, wanted]) => sysctls[name] !== wanted);
  if (!isProtected || wrong.length === 0) return verdicts;
  const list = wrong.map(([name, wanted]) => `${name} is ${sysctls[name] ?? 'missing'}, not ${wanted}`).join('; ');
  const fix = `sysctl -w ${wrong.map(([name, wanted]) => `${name}=${wanted}`).join(' ')}`;
  return [...verdicts, problem(`protectKernelDefaults is set, and ${list}`, fix)];
}

export function checkCgroups({ cgroups }: Facts): Verdict[] {
  return onFact(cgroups, judgeCgroups);
}

function judgeCgroups(facts: CgroupFacts): Verdict[] {
  const { mode, offered, isWritable, unified } = facts;
  if (mode === 'none') {
    return [problem('no cgroups are mounted', 'mount -t cgroup2 none /sys/fs/cgroup')];
  }
  const missing = missingControllers(mode === 'v2' ? 2 : 1, offered);
  const verdicts = [ok(`cgroup ${mode}, controllers ${offered.join(' ')}`)];
  if (missing.length > 0) {
    const fix = `Add ${missing.map((name) => `cgroup_enable=${name}`).join(' ')} to the command line of the kernel, and reboot.`;
    verdicts.push(warning(`no controller ${missing.join(', ')}: pods run without these limits`, fix));
  }
  if (!isWritable) {
    const fix = 'In a container: run it with --privileged. Otherwise: mount -o remount,rw /sys/fs/cgroup';
    verdicts.push(problem('/sys/fs/cgroup is read-only, so no pod gets a cgroup', fix));
  }
  return unified === undefined ? verdicts : [...verdicts, ...judgeDelegation(unified, offered)];
}

/** The kernel delegates no controller from a cgroup with processes, except from the root: cgroups(7). */
function judgeDelegation(
  { delegated, isRoot, hasProcesses }: Required<CgroupFacts>['unified'],
  offered: string[],
): Verdict[] {
  const missing = ['cpu', 'cpuset', 'memory'].filter((name) => offered.includes(name) && !delegated.includes(name));
  if (isRoot || !hasProcesses || missing.length === 0) return [];
  const evidence = `this cgroup has processes and does not delegate ${missing.join(', ')}: pods run without these limits`;
  const fix =
    'mkdir /sys/fs/cgroup/init && xargs -rn1 < /sys/fs/cgroup/cgroup.procs > /sys/fs/cgroup/init/cgroup.procs';
  return [warning(evidence, fix)];
}
