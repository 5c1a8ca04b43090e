# The eight rules of benchmarks/speed/events.py for jq: run with --null-input, --compact-output and
# --argjson regions '{"France": "continent", ...}'.
foreach inputs as $order (
  {known: {}, out: null};
  ($order.customer) as $who
  | (if $who != null and (.known | has($who) | not)
     then .known[$who] = (.known | length) + 1 else . end)
  | .out = (
      {invoice: ($order.invoice[0:3] + "***"),
       date: ($order.time[0:13] + ":00:00")}
      + (if $who != null then {customer: .known[$who]} else {} end)
      + {region: ($regions[$order.country] // "elsewhere"),
         group: (reduce $order.lines[] as $line (
             {seen: {}, all: []};
             (if .seen | has($line.code) | not
              then .seen[$line.code] = (.seen | length) + 1 else . end)
             | .all += [{ref: .seen[$line.code],
                         many: (($line.quantity / 5 | floor) * 5),
                         price: (($line.price * 2 | floor) / 2)}])
           | .all)});
  .out)
