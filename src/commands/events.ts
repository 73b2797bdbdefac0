import { type Command, Option } from 'commander';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import type { CommandDeps } from './io/deps.ts';
import { jsonText } from './io/json-text.ts';
import type { PodFlags } from './pod/open-pod.ts';
import type { ListedEvent } from './objects/listed-event.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';

interface EventsFlags extends PodFlags {
  for?: string;
  output?: 'json';
  types?: 'Normal' | 'Warning';
  watch?: boolean;
  headers: boolean;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('events'))
    .description('List the events of pods, workloads and Services, oldest first')
    .usage('[options] [POD]')
    .argument(
      '[pod]',
      'a pod: name, name without the node, or namespace/name; or such as job/pi or svc/web (default: all)',
    )
    .option('-n, --namespace <namespace>', 'list only events of this namespace')
    .option('-A, --all-namespaces', 'list events of all namespaces (default)')
    .option('-w, --watch', 'then print new events until stopped, even after the agent restarts')
    .option('--for <pod>', 'list only events of this pod, such as pod/web; the same as POD')
    .addOption(new Option('--types <type>', 'list only events of this type').choices(['Normal', 'Warning']))
    .addOption(new Option('-o, --output <format>', 'json: one object a line').choices(['json']))
    .option('--no-headers', 'leave out the line of column names')
    .addHelpText('after', examples)
    .action((pod: string | undefined, flags: EventsFlags) => {
      if (pod !== undefined && flags.for !== undefined) throw new UserError('name the pod once: as POD or with --for');
      return events(deps, pod ?? flags.for, flags);
    });
}

const examples = `
Past events are kept across restarts of the agent, the runtime and the machine.

Examples:
  kubelet-ts events                    lists all events
  kubelet-ts events -w web             lists those of pod web, then new ones
  kubelet-ts events job/pi             lists those of the Job and its pods
  kubelet-ts events --types Warning -n kube-system`;

/** Prints the events of a pod, or of all, as `get events` does. */
export async function listEvents(
  deps: CommandDeps,
  pod: string | undefined,
  { rootDir, namespace, headers }: Pick<EventsFlags, 'rootDir' | 'namespace' | 'headers'>,
): Promise<void> {
  await events(deps, pod, { rootDir, headers, ...(namespace !== undefined && { namespace }) });
}

async function events(deps: CommandDeps, pod: string | undefined, flags: EventsFlags): Promise<void> {
  const [{ pastEvents }, { eventsTable, isWanted }, { openWatch, PrintedEvents, printNew }, { waitForNextAgent }] =
    await Promise.all([
      import('./events/past-events.ts'),
      import('./events/events-table.ts'),
      import('./events/watch-events.ts'),
      import('./pod/wait-for-next-agent.ts'),
    ]);
  const { stdout, stderr } = deps;
  const text = async (shown: readonly ListedEvent[], headers: boolean): Promise<string> =>
    flags.output === 'json'
      ? shown.map((event) => jsonText(event, 0)).join('')
      : eventsTable(shown, { headers, now: Date.now() });
  const done = new AbortController();
  const { signal } = done;
  // The reader of our output closed it.
  stdout.once('error', () => {
    done.abort();
  });
  const socket = controlSocketPath(flags.rootDir);
  const printed = new PrintedEvents();
  let isFirst = true;
  do {
    const watchedFrom = Date.now();
    const watch = flags.watch === true ? await openWatch(flags, signal) : undefined;
    const past = await pastEvents(deps, pod, flags);
    const fresh = printed.filterNew(
      past.events.filter((event) => isWanted(event, flags)),
      watchedFrom,
    );
    stdout.write(await text(fresh, isFirst && flags.headers));
    isFirst = false;
    if (watch === undefined) return;
    const wanted = { ...flags, printed, isOfObject: past.isOfObject };
    await printNew(deps, watch, wanted, (event) => text([event], false));
  } while (!signal.aborted && (await waitForNextAgent(socket, { stderr, signal })));
}
