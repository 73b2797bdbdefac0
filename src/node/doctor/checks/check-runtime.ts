import type { Facts, RuntimeAnswer, RuntimeFacts, Settings, Trouble } from './facts.ts';
import { ok, onFact, problem, type Verdict, warning } from './finding.ts';

type Chosen = Extract<RuntimeFacts, { kind: 'chosen' }>;

export function checkRuntime({ runtime, settings }: Facts): Verdict[] {
  return onFact(runtime, (facts) => {
    if (facts.kind === 'none') return [fromTrouble(facts.trouble)];
    return [ok(facts.because), ...judgePrograms(facts), ...judgeAnswer(facts, settings)];
  });
}

const fromTrouble = ({ message, hint }: Trouble): Verdict =>
  problem(message, hint ?? 'Read the log of the runtime: journalctl -u containerd');

function judgePrograms({ programs }: Chosen): Verdict[] {
  if (programs === undefined) return [];
  if ('message' in programs) return [fromTrouble(programs)];
  const { containerd, version, ociRuntime } = programs;
  return [ok(`can be managed: ${containerd} ${version} with its shim, ${ociRuntime}`)];
}

function judgeAnswer({ answer, endpoint, managed }: Chosen, settings: Settings): Verdict[] {
  if (answer === undefined) return [ok('the managed containerd does not run; kubelet-ts run starts it')];
  if ('message' in answer) return [fromTrouble(answer)];
  const name = `${answer.name} ${answer.version} answers on ${endpoint}`;
  const conditions = answer.conditions.flatMap((condition) =>
    judgeCondition(condition, { managed, settings, networkCommands: answer.networkCommands }),
  );
  return [ok(name), ...conditions, ...judgeDriver(answer, settings)];
}

function judgeCondition(
  { type, status, reason, message }: RuntimeAnswer['conditions'][number],
  {
    managed,
    settings,
    networkCommands,
  }: Pick<RuntimeAnswer, 'networkCommands'> & { managed: boolean; settings: Settings },
): Verdict[] {
  if (status) return [];
  const evidence = `${type} is false: ${[reason, message].filter((text) => text !== '').join(': ')}`;
  if (type !== 'NetworkReady') {
    const log = managed ? `tail ${settings.rootDir}/containerd/containerd.log` : 'journalctl -u containerd -n 50';
    return [problem(evidence, log)];
  }
  const restart = 'kubelet-ts down --all, and start kubelet-ts again';
  const fix = managed ? ['apt-get install containernetworking-plugins', restart] : networkCommands;
  return [problem(evidence, fix.join('\n'))];
}

function judgeDriver({ cgroupDriver, hasSystemd }: RuntimeAnswer, settings: Settings): Verdict[] {
  if (cgroupDriver === undefined) {
    return [ok(`does not report its cgroup driver; using the configured ${settings.cgroupDriver}`)];
  }
  if (cgroupDriver === 'systemd' && !hasSystemd) {
    const fix = 'Set SystemdCgroup = false in /etc/containerd/config.toml, then restart containerd.';
    return [problem('the cgroup driver of the runtime is systemd, but systemd does not run here', fix)];
  }
  if (cgroupDriver !== settings.cgroupDriver && settings.cgroupDriver === 'systemd') {
    const evidence = `the cgroup driver is ${cgroupDriver}, as the runtime reports; the configuration says systemd`;
    return [warning(evidence, `Set cgroupDriver: ${cgroupDriver}, or SystemdCgroup = true in the runtime.`)];
  }
  return [ok(`cgroup driver ${cgroupDriver}`)];
}
