import { formatTime } from '../../../api/values/time.ts';
import { listenerHint } from '../../../engine/network/port-listeners.ts';
import type { AgentFacts, Facts, PathFacts, PortFacts } from './facts.ts';
import { ok, onFact, problem, type Verdict, warning } from './finding.ts';

export function checkClock({ clock }: Facts): Verdict[] {
  return onFact(clock, ({ now, builtAt, stepsMs }) => {
    if (now < builtAt) {
      const evidence = `it is ${formatTime(now)} here, before this program was built: certificates are not valid yet`;
      return [problem(evidence, 'Set the clock: timedatectl set-ntp true, or date -s "YYYY-MM-DD hh:mm:ss"')];
    }
    const last = stepsMs.at(-1);
    if (last === undefined) return [ok(formatTime(now))];
    const evidence = `was set ${stepsMs.length} times since the boot, most recently by ${(last / 1000).toFixed(0)} s`;
    return [warning(evidence, 'timedatectl timesync-status; chronyc tracking')];
  });
}

const otherWriters = 0o022;
const anyOther = 0o077;

export function checkPaths({ paths }: Facts): Verdict[] {
  return paths.flatMap((path) => onFact(path, judgePath));
}

function judgePath({ what, path, found }: PathFacts): Verdict[] {
  if (found === undefined) return judgeMissing(what, path);
  const mode = (found.mode & 0o7777).toString(8).padStart(4, '0');
  const shown = `${what} ${path}`;
  const verdicts: Verdict[] = [];
  const severity = what === 'manifests' ? warning : problem;
  if (found.isLink && what !== 'manifests') verdicts.push(problem(`${shown} is a link`, `ls -l ${path}`));
  if (found.uid !== 0)
    verdicts.push(severity(`${shown} belongs to user ${found.uid}, not to root`, `chown root: ${path}`));
  if (what === 'control socket' && (found.mode & anyOther) !== 0) {
    verdicts.push(problem(`${shown} has mode ${mode}: others may use it`, `chmod 0600 ${path}`));
  } else if ((found.mode & otherWriters) !== 0) {
    verdicts.push(severity(`${shown} has mode ${mode}: others may write there`, `chmod go-w ${path}`));
  }
  return verdicts.length > 0 ? verdicts : [ok(`${shown} has mode ${mode}`)];
}

function judgeMissing(what: PathFacts['what'], path: string): Verdict[] {
  if (what === 'manifests') {
    const fix = /\.(?:ya?ml|json)$/.test(path) ? `Write ${path}, or correct the path.` : `mkdir -p ${path}`;
    return [warning(`manifests ${path} are missing`, fix)];
  }
  return what === 'root-dir' ? [ok(`root-dir ${path} is created by kubelet-ts run`)] : [];
}

export function checkPorts({ ports, hostPorts, agents }: Facts): Verdict[] {
  const { own, others } = 'value' in agents ? agents.value : { others: [] };
  const pid = own !== undefined && 'pid' in own ? own.pid : undefined;
  return [
    ...ports.flatMap((port) => onFact(port, (facts) => judgePort(facts, pid, others))),
    ...onFact(hostPorts, (found) => found.map(({ pod, sentence }) => warning(`pod ${pod}: ${sentence}`, listenerHint))),
  ];
}

function judgePort(
  { port, flag, holder }: PortFacts,
  ownPID: number | undefined,
  others: AgentFacts['others'],
): Verdict[] {
  if (holder === undefined) return [ok(`${port} is free`)];
  if (holder.pid !== undefined && holder.pid === ownPID) return [ok(`${port} is used by this agent`)];
  const rootDir = others.find(({ pid }) => pid === holder.pid)?.rootDir;
  const command = rootDir === undefined ? holder.command : `the kubelet-ts of ${rootDir}`;
  const evidence = `${port} is used by ${command}${holder.pid === undefined ? '' : ` (pid ${holder.pid})`}`;
  return [problem(evidence, `Stop that program, or choose another port: kubelet-ts run ${flag} PORT`)];
}

export function checkAgents({ agents, runtime }: Facts): Verdict[] {
  const isManaged = 'value' in runtime && runtime.value.kind === 'chosen' && runtime.value.managed;
  return onFact(agents, ({ own, others, runningPods, undeclaredPods = 0 }) => [
    judgeOwn(own, runningPods),
    ...(undeclaredPods === 0 ? [] : [judgeUndeclared(undeclaredPods)]),
    ...others.map((one) => judgeOther(one, isManaged)),
  ]);
}

function judgeUndeclared(count: number): Verdict {
  const what = count === 1 ? '1 pod of this root-dir runs' : `${count} pods of this root-dir run`;
  return warning(
    `${what} without a manifest`,
    'Run the manifests that declare them, or: kubelet-ts run MANIFESTS --prune',
  );
}

function judgeOwn(own: AgentFacts['own'], runningPods = 0): Verdict {
  if (own === undefined && runningPods > 0) {
    const pods =
      runningPods === 1
        ? 'one pod runs: nothing restarts or probes its containers'
        : `${runningPods} pods run: nothing restarts or probes their containers`;
    const evidence = `no kubelet-ts runs on this root-dir, but ${pods}`;
    return warning(evidence, 'Start it: systemctl start kubelet-ts, or kubelet-ts run MANIFEST');
  }
  if (own === undefined) return ok('no kubelet-ts runs on this root-dir');
  if ('pid' in own) {
    const { pid, version = 'of an earlier release' } = own;
    return ok(`kubelet-ts ${version} runs on this root-dir (pid ${pid})`);
  }
  return problem(own.message, own.hint ?? 'kubelet-ts down');
}

/** A kubelet removes all pods that it does not know from its runtime. */
function judgeOther({ pid, rootDir }: AgentFacts['others'][number], isManaged: boolean): Verdict {
  if (rootDir !== undefined) return ok(`another kubelet-ts runs on ${rootDir} (pid ${pid})`);
  const evidence = `kubelet (pid ${pid}) also runs on this machine`;
  const fix = 'systemctl disable --now kubelet';
  return isManaged ? warning(evidence, fix) : problem(`${evidence}, and may remove the pods of kubelet-ts`, fix);
}
