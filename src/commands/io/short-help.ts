import { type Command, Help, type Option } from 'commander';

/**
 * Groups the flags that most users need. --help shows only these, and --help-all also shows the others. Does not change
 * how flags are parsed.
 */
export function addShortHelp(command: Command, groups: Readonly<Record<string, readonly string[]>>): Command {
  let isAll = false;
  return command
    .option('--help-all', 'show all flags')
    .on('option:help-all', () => {
      isAll = true;
      command.help();
    })
    .configureHelp({
      visibleOptions: (shown) => {
        const options = new Help().visibleOptions(shown);
        for (const option of options) {
          const title = groupOf(option, groups);
          if (title !== undefined) option.helpGroup(title);
        }
        return isAll ? options : options.filter((option) => isCommon(option));
      },
    });
}

function groupOf({ long }: Option, groups: Readonly<Record<string, readonly string[]>>): string | undefined {
  return Object.keys(groups).find((title) => groups[title]?.includes(long ?? ''));
}

const isCommon = ({ long, helpGroupHeading }: Option): boolean =>
  helpGroupHeading !== undefined || long === '--help' || long === '--help-all';
