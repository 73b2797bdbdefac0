/** A command line of another program, and what its user can do here. */
export interface Habit {
  /** Its first words. The longest match counts. */
  typed: string;
  /** Absent: anything may follow. Otherwise one of these flags, such as `-it`, must be among the first words. */
  flags?: readonly string[];
  /**
   * The command to use instead. `{args}` stands for the args after `typed`, with the flags that our commands have too.
   * `{pod}` stands for the first of these args. `{args|POD}` is `POD` if there are none.
   */
  use?: string;
  /** What to do, or why another command is used. */
  advice?: string;
}
