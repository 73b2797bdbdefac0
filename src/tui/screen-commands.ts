/** Runs command lines of kubelet-ts for the screen. */
export interface ScreenCommands {
  /** Flags of every command, such as the folder of the agent. */
  readonly flags: readonly string[];
  /** Starts a command in the background. `onOutput` is called with the text of stdout and stderr. */
  start(args: readonly string[], onOutput: (text: string) => void): RunningCommand;
  /** Runs a command that uses the terminal. Resolves with its exit code, and with its last output on stderr. */
  onTerminal(args: readonly string[]): Promise<{ exitCode: number; message: string }>;
  /** Writes text to a new file. Resolves with its path. */
  save(name: string, text: string): Promise<string>;
}

export interface RunningCommand {
  /** Resolves with the exit code. */
  ended: Promise<number>;
  end(): void;
}
