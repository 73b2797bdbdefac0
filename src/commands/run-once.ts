import { type Command, Option } from 'commander';
import { visible } from '../visible-text.ts';
import type { Logger } from '../logger.ts';
import type { CommandDeps } from './io/deps.ts';
import { jsonText } from './io/json-text.ts';
import { duration } from '../node/options/flags.ts';
import { logEvents } from '../node/log/log-events.ts';
import { addLogOptions, addNodeOptions } from '../node/options/node-flags.ts';
import { createNodeLogger, type LogFlags } from '../node/log/node-logger.ts';
import { type NodeFlags, nodeOptions } from '../node/options/node-options.ts';
import { eachFailureOnce } from '../node/log/repeated-failures.ts';
import type { PodResult } from '../node/run-once/run-once-node.ts';

interface RunOnceFlags extends NodeFlags, LogFlags {
  timeout?: number;
  rm: boolean;
  output?: 'json';
}

const defaultTimeoutMs = 600_000;

export function registerRunOnce(program: Command, deps: CommandDeps): void {
  addLogOptions(addNodeOptions(program.command('run-once')), 'warn')
    .description('Run pods until each has completed or is Ready, and exit with their result')
    .argument('[manifests...]', 'files or folders of pod manifests, - for stdin')
    .option('--timeout <duration>', 'give up after this long (default: 10m)', duration)
    .option('--rm', 'stop and remove the pods at the end', false)
    .addOption(new Option('-o, --output <format>', 'print the result as one object').choices(['json']))
    .addHelpText('after', help)
    .action(async (manifests: string[], flags: RunOnceFlags) => {
      const { runOnce } = await import('../node/run-once/run-once-node.ts');
      const options = await nodeOptions(flags, []);
      const { logger: nodeLogger } = await createNodeLogger(options, flags, 'warn');
      const logger = eachFailureOnce(withoutFailedSyncs(nodeLogger));
      const { results, unremoved, exitCode, isLogPrefixed } = await runOnce({
        options,
        manifests: [...manifests, ...(flags.podManifestPath ?? [])],
        timeoutMs: flags.timeout ?? defaultTimeoutMs,
        remove: flags.rm,
        stdin: deps.stdin,
        stdout: flags.output === 'json' ? deps.stderr : deps.stdout,
        stderr: deps.stderr,
        logger,
        onKubelet: (kubelet) => {
          logEvents(kubelet, logger);
        },
      });
      if (flags.output === 'json') deps.stdout.write(jsonText({ exitCode, pods: results }, 2));
      else for (const result of results) deps.stderr.write(resultText(result, isLogPrefixed));
      for (const { pod, reason } of unremoved)
        deps.stderr.write(`${visible(`error: pod ${pod} could not be removed: ${reason}`)}\n`);
      if (unremoved.length > 0) deps.stderr.write('hint: kubelet-ts down removes it, and so does the next run.\n');
      deps.setExitCode(exitCode);
    });
}

/** Drops logs of failed syncs, because each is also an event of its pod. */
function withoutFailedSyncs(logger: Logger): Logger {
  return {
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error: logger.error.bind(logger),
    child: (bindings) => {
      const child = logger.child(bindings);
      return bindings['component'] === 'pod-workers' ? { ...child, warn: child.debug.bind(child) } : child;
    },
  };
}

/** The result of a pod. If the logs of several containers were mixed, the last lines of the failed one are repeated. */
function resultText({ pod, outcome, message, log = '' }: PodResult, isLogPrefixed: boolean): string {
  const summary = `${visible(`${pod}: ${outcome}${message === '' ? '' : `: ${message}`}`)}\n`;
  if (!isLogPrefixed) return summary;
  const lines = log.split('\n').filter((line) => line !== '');
  return summary + lines.map((line) => `  | ${line}\n`).join('');
}

const help = `
A pod is done when it has completed (restartPolicy Never or OnFailure), or when it is Ready (Always). A CronJob runs once, at once.
The output of containers goes to stdout and stderr as they write it, the results go to stderr.

Exit codes:
  0    all pods completed or are Ready
  N    the exit code of the first container that failed; 127: command not found, 126: command cannot be executed
  1    all went well, but --rm could not remove a pod
  2    a manifest is broken, nothing was started
  124  the timeout passed
  125  a pod could not be started
  130  interrupted

Examples:
  kubelet-ts run-once job.yaml              exits with the result of the job
  kubelet-ts run-once --rm - < pod.yaml     reads stdin, leaves nothing behind
  kubelet-ts run-once -o json ci/           runs a folder of pods, prints the result as JSON`;
