import { type Command, Option } from 'commander';
import { addRuntimeOptions } from '../node/options/flags.ts';
import type { CommandDeps } from './io/deps.ts';
import { jsonText } from './io/json-text.ts';
import type { PodFlags } from './pod/open-pod.ts';
import type { ListedEvent } from './events/past-events.ts';

interface EventsFlags extends PodFlags {
  output?: 'json';
  types?: 'Normal' | 'Warning';
  watch?: boolean;
  headers: boolean;
}

export function registerEvents(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('events'))
    .description('List the events of pods, oldest first')
    .usage('[options] [POD]')
    .argument('[pod]', 'name, name without the node, or namespace/name (default: all pods)')
    .option('-n, --namespace <namespace>', 'list only events of this namespace')
    .option('-w, --watch', 'then print new events, until stopped')
    .addOption(new Option('--types <type>', 'list only events of this type').choices(['Normal', 'Warning']))
    .addOption(new Option('-o, --output <format>', 'json: one object a line').choices(['json']))
    .option('--no-headers', 'leave out the line of column names')
    .addHelpText('after', examples)
    .action(async (pod: string | undefined, flags: EventsFlags) => {
      const [{ pastEvents }, { eventsTable, isWanted }] = await Promise.all([
        import('./events/past-events.ts'),
        import('./events/events-table.ts'),
      ]);
      const { openWatch, printNew } = await import('./events/watch-events.ts');
      const watch = flags.watch === true ? await openWatch(deps, flags) : undefined;
      const { events, pod: own } = await pastEvents(deps, pod, flags);
      const past = events.filter((event) => isWanted(event, flags));
      const text = async (shown: readonly ListedEvent[], headers: boolean): Promise<string> =>
        flags.output === 'json'
          ? shown.map((event) => jsonText(event, 0)).join('')
          : eventsTable(shown, { headers, now: Date.now() });
      deps.stdout.write(await text(past, flags.headers));
      if (watch === undefined) return;
      await printNew(deps, watch, { ...flags, past, ...(own && { pod: own }) }, (event) => text([event], false));
    });
}

const examples = `
The past outlives restarts of the agent, the runtime and the machine.

Examples:
  kubelet-ts events                    lists the events of all pods
  kubelet-ts events -w web             lists those of pod web, then new ones
  kubelet-ts events --types Warning -n kube-system`;
