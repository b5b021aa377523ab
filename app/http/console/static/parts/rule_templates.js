// Rules to begin with: each is one of examples/, under what it is for.

/** @type {[string, any][]} */
export const TEMPLATES = [
  ["Looking things up is free", { type: "tool_grant", tools: ["get_*", "search_*", "list_files"] }],
  ["Everything is stopped", { type: "tool_denylist", tools: ["*"] }],
  ["Whatever another server offers, a person is asked", { type: "approval_required", tools: ["mcp__*"] }],
  [
    "A person is asked for one value only",
    {
      type: "approval_required",
      tools: ["update_reservation_flights"],
      when: { parameters: { cabin: { enum: ["business"] } } },
    },
  ],
  [
    "No amount above a bound, or of nothing",
    {
      type: "parameter_constraint",
      tools: ["send_money", "schedule_transaction"],
      parameters: { amount: { above: 0, max: 10000 } },
    },
  ],
  [
    "Ids have their form",
    {
      type: "parameter_constraint",
      tools: ["cancel_reservation"],
      parameters: { reservation_id: { regex: "^[A-Z0-9]{6}$" } },
    },
  ],
  [
    "Only what the user has named; a person is asked for any other",
    {
      type: "parameter_constraint",
      tools: ["get_webpage"],
      effect: "escalate",
      parameters: { url: { fromRequest: "exact" } },
    },
  ],
  [
    "Only files of the project, and no secrets",
    {
      type: "parameter_constraint",
      tools: ["Glob", "Grep"],
      parameters: { path: { path: { under: ["/home/ann/shop"], notAmong: ["secrets", "hidden"] }, required: false } },
    },
  ],
  [
    "Outside business hours a person is asked",
    {
      type: "time_based",
      tools: ["book_reservation", "cancel_reservation", "send_certificate", "update_reservation_*"],
      effect: "escalate",
      timeWindow: {
        allowedHours: [8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19],
        allowedDays: [1, 2, 3, 4, 5],
        timezone: "America/Chicago",
      },
    },
  ],
  [
    "Three a day for each user, then a person is asked",
    {
      type: "rate_limit",
      tools: ["book_reservation"],
      effect: "escalate",
      rateLimit: { maxCalls: 3, windowSeconds: 86400, per: ["parameters.user_id"] },
    },
  ],
  [
    "So much money a month for each user",
    {
      type: "budget",
      tools: ["send_certificate"],
      budget: { parameter: "amount", max: 500, windowSeconds: 2592000, per: ["parameters.user_id"] },
    },
  ],
  [
    "Only once it has been looked at; else a person is asked",
    {
      type: "sequence",
      tools: ["cancel_reservation", "update_reservation_*"],
      effect: "escalate",
      sequence: { requiresBefore: ["get_reservation_details"], withinSeconds: 86400 },
    },
  ],
];
